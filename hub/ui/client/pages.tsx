import { homePath, isPagePath } from "../page-path.ts";
import { info } from "./lib/info.ts";
import { type PageFile, pageFile } from "./shell/lazy-page.tsx";
import type { Place } from "./shell/places.ts";

export interface PageEntry {
  /** Pattern of its address, with `:name` for what varies. */
  path: string;
  title: string;
  place: Place;
  /** Only where there is a browser fleet. */
  fleet?: boolean;
  /** It needs the width: the side bar is a rail beside it. */
  wide?: boolean;
  /** Its page of the guide. */
  guide: string;
  /** In the navigation and the palette, under its place; pages of one thing are reached from their list. */
  nav?: { label: string; key?: string; words?: string };
  file: PageFile;
}

/** In the order of the navigation. Of two patterns that fit an address the first is taken. */
const ALL: PageEntry[] = [
  {
    path: "/ui/home",
    title: "Home",
    place: "home",
    guide: "/guide/concepts/overview",
    nav: { label: "Home", key: "o", words: "overview dashboard problems" },
    file: pageFile(() => import("./home.tsx")),
  },
  {
    path: "/ui/browsers",
    title: "Browsers",
    place: "browsers",
    fleet: true,
    guide: "/guide/concepts/fleet",
    nav: { label: "Live", key: "w", words: "wall lanes previews live" },
    file: pageFile(() => import("./fleet/wall.tsx")),
  },
  {
    path: "/ui/browsers/past",
    title: "Past sessions",
    place: "browsers",
    fleet: true,
    guide: "/guide/rules/sessions",
    nav: { label: "Past sessions", words: "ended history who opened" },
    file: pageFile(() => import("./fleet/sessions.tsx")),
  },
  {
    path: "/ui/browsers/:sid",
    title: "Session",
    place: "browsers",
    fleet: true,
    wide: true,
    guide: "/guide/rules/sessions",
    file: pageFile(() => import("./fleet/session.tsx")),
  },
  {
    path: "/ui/captures",
    title: "Captures",
    place: "captures",
    fleet: true,
    guide: "/guide/rules/jobs",
    nav: { label: "All", key: "j", words: "jobs" },
    file: pageFile(() => import("./fleet/jobs.tsx")),
  },
  {
    path: "/ui/captures/new",
    title: "New capture",
    place: "captures",
    fleet: true,
    guide: "/guide/rules/job-options",
    nav: { label: "New capture", key: "n", words: "submit job fetch url" },
    file: pageFile(() => import("./fleet/submit.tsx")),
  },
  {
    path: "/ui/captures/schedules",
    title: "Schedules",
    place: "captures",
    fleet: true,
    guide: "/guide/rules/watches",
    nav: { label: "Schedules", words: "watches changes monitor" },
    file: pageFile(() => import("./fleet/watches.tsx")),
  },
  {
    path: "/ui/captures/schedules/:watch_id",
    title: "Schedule",
    place: "captures",
    fleet: true,
    guide: "/guide/rules/watches",
    file: pageFile(() => import("./fleet/watch.tsx")),
  },
  {
    path: "/ui/captures/failures",
    title: "Failed captures",
    place: "captures",
    fleet: true,
    guide: "/guide/rules/failures",
    nav: { label: "Failures", words: "failed grouped retry fingerprint triage" },
    file: pageFile(() => import("./fleet/job-failures.tsx")),
  },
  {
    path: "/ui/captures/:job_id",
    title: "Capture",
    place: "captures",
    fleet: true,
    wide: true,
    guide: "/guide/rules/documents",
    file: pageFile(() => import("./fleet/job.tsx")),
  },
  {
    path: "/ui/captures/:job_id/diff/:other",
    title: "Difference",
    place: "captures",
    fleet: true,
    guide: "/guide/rules/comparison",
    file: pageFile(() => import("./fleet/difference.tsx")),
  },
  {
    path: "/ui/pipelines",
    title: "Workloads",
    place: "pipelines",
    guide: "/guide/rules/pipeline-workloads",
    nav: { label: "Workloads", key: "l", words: "queues tasks create" },
    file: pageFile(() => import("./pipeline/workloads.tsx")),
  },
  {
    path: "/ui/pipelines/runs",
    title: "Runs",
    place: "pipelines",
    guide: "/guide/rules/pipeline-runs",
    nav: { label: "Runs", key: "r", words: "failures attempts" },
    file: pageFile(() => import("./pipeline/runs.tsx")),
  },
  {
    path: "/ui/pipelines/failures",
    title: "Failures",
    place: "pipelines",
    guide: "/guide/rules/failures",
    nav: { label: "Failures", words: "failed grouped retry fingerprint triage" },
    file: pageFile(() => import("./pipeline/failures.tsx")),
  },
  {
    path: "/ui/pipelines/flow",
    title: "Flow",
    place: "pipelines",
    guide: "/guide/rules/pipeline-views",
    nav: { label: "Flow", key: "f", words: "graph rates" },
    file: pageFile(() => import("./pipeline/flow.tsx")),
  },
  {
    path: "/ui/pipelines/:slug",
    title: "Workload",
    place: "pipelines",
    guide: "/guide/rules/pipeline-queue",
    file: pageFile(() => import("./pipeline/workload.tsx")),
  },
  {
    path: "/ui/pipelines/workloads/:slug",
    title: "Workload",
    place: "pipelines",
    guide: "/guide/rules/pipeline-queue",
    file: pageFile(() => import("./pipeline/workload.tsx")),
  },
  {
    path: "/ui/library/hosts",
    title: "Hosts",
    place: "library",
    fleet: true,
    guide: "/guide/rules/hosts",
    nav: { label: "Hosts", key: "h", words: "recipes cookies login" },
    file: pageFile(() => import("./fleet/hosts.tsx")),
  },
  {
    path: "/ui/library/hosts/:host",
    title: "Host",
    place: "library",
    fleet: true,
    guide: "/guide/rules/recipes",
    file: pageFile(() => import("./fleet/host.tsx")),
  },
  {
    path: "/ui/library/profiles",
    title: "Profiles",
    place: "library",
    fleet: true,
    guide: "/guide/rules/profiles",
    nav: { label: "Profiles", words: "upload chrome extension default" },
    file: pageFile(() => import("./fleet/profiles.tsx")),
  },
  {
    path: "/ui/library/skills",
    title: "Skills",
    place: "library",
    fleet: true,
    guide: "/guide/rules/library",
    nav: { label: "Skills" },
    file: pageFile(() => import("./fleet/skills.tsx")),
  },
  {
    path: "/ui/library/presets",
    title: "Presets",
    place: "library",
    fleet: true,
    guide: "/guide/rules/library",
    nav: { label: "Presets" },
    file: pageFile(() => import("./fleet/presets.tsx")),
  },
  {
    path: "/ui/library/engines",
    title: "Engines",
    place: "library",
    fleet: true,
    guide: "/guide/rules/engines",
    nav: { label: "Engines", words: "llm model" },
    file: pageFile(() => import("./fleet/engines.tsx")),
  },
  {
    path: "/ui/library/conventions",
    title: "Conventions",
    place: "library",
    fleet: true,
    guide: "/guide/rules/library",
    nav: { label: "Conventions", words: "rules" },
    file: pageFile(() => import("./fleet/conventions.tsx")),
  },
  {
    path: "/ui/library/plugins",
    title: "Plugins",
    place: "library",
    guide: "/guide/rules/pipeline-plugins",
    nav: { label: "Plugins" },
    file: pageFile(() => import("./pipeline/plugins.tsx")),
  },
  {
    path: "/ui/library/plugins/:slug",
    title: "Plugin",
    place: "library",
    guide: "/guide/rules/pipeline-plugins",
    file: pageFile(() => import("./pipeline/plugin.tsx")),
  },
  {
    path: "/ui/system/workers",
    title: "Workers",
    place: "system",
    guide: "/guide/rules/workers",
    nav: {
      label: "Workers",
      key: "b",
      words: "browser pipeline drain standby lanes version slots leases cpu gpu load charts",
    },
    file: pageFile(() => import("./system/workers.tsx")),
  },
  {
    path: "/ui/system/agents",
    title: "Agents",
    place: "system",
    guide: "/guide/rules/pipeline-agents",
    nav: { label: "Agents", words: "elastic spawn stop instances" },
    file: pageFile(() => import("./pipeline/agents.tsx")),
  },
  {
    path: "/ui/system/logs",
    title: "Logs",
    place: "system",
    guide: "/guide/rules/pipeline-operations",
    nav: { label: "Logs", key: "s", words: "service tail errors" },
    file: pageFile(() => import("./pipeline/logs.tsx")),
  },
  {
    path: "/ui/system/deploys",
    title: "Deploys",
    place: "system",
    guide: "/guide/rules/pipeline-operations",
    nav: { label: "Deploys" },
    file: pageFile(() => import("./pipeline/deploys.tsx")),
  },
  {
    path: "/ui/system/tokens",
    title: "Tokens",
    place: "system",
    guide: "/guide/rules/access",
    nav: { label: "Tokens", words: "roles access login api revoke" },
    file: pageFile(() => import("./pipeline/tokens.tsx")),
  },
  {
    path: "/ui/system/audit",
    title: "Audit",
    place: "system",
    guide: "/guide/rules/access",
    nav: { label: "Audit", words: "log who changed security refused calls" },
    file: pageFile(() => import("./pipeline/audit.tsx")),
  },
  {
    path: "/ui/system/settings",
    title: "Settings",
    place: "system",
    guide: "/guide/rules/pipeline-operations",
    nav: {
      label: "Settings",
      words: "retention webhook cors administrator llm test variables fleet",
    },
    file: pageFile(() => import("./system/settings.tsx")),
  },
];

/** The pages this server has something for. */
export const PAGES = ALL.filter(({ fleet }) => info.fleet || !fleet);

/** What `/` shows. */
export const HOME = homePath();

export const pageAt = (path: string): PageEntry | undefined => {
  const wanted = path === "/" ? HOME : path;
  return PAGES.find((page) => isPagePath(page.path, wanted));
};

/** The address of the guide's page about the page at `path`. */
export const guideFor = (path: string): string => pageAt(path)?.guide ?? "/guide";

/** Fetches the file of the page at `path`, if there is one. @throws what the browser says when it does not come */
export async function loadPage(path: string): Promise<void> {
  await pageAt(path)?.file.load();
}
