import {
  type Icon,
  IconActivity,
  IconAdjustments,
  IconBooks,
  IconBrain,
  IconBrowser,
  IconCpu,
  IconDeviceDesktop,
  IconEye,
  IconFileText,
  IconGauge,
  IconHistory,
  IconKey,
  IconList,
  IconPlayerStop,
  IconPlug,
  IconRocket,
  IconRoute,
  IconSend,
  IconServer,
  IconSettings,
  IconShieldCheck,
  IconStack2,
  IconTemplate,
  IconUser,
  IconWorld,
} from "@tabler/icons-react";
import { homePath, isPagePath } from "../page-path.ts";
import { info } from "./lib/info.ts";
import { type PageFile, pageFile } from "./shell/lazy-page.tsx";

export interface PageEntry {
  /** Pattern of its address, with `:name` for what varies. */
  path: string;
  title: string;
  part: "fleet" | "pipeline";
  /** Its page of the guide. */
  guide: string;
  /** In the navigation and the palette; pages of one thing are reached from their list. */
  nav?: { icon: Icon; key?: string; words?: string };
  file: PageFile;
}

const ALL: PageEntry[] = [
  {
    path: "/ui/wall",
    title: "Wall",
    part: "fleet",
    guide: "/guide/concepts/fleet",
    nav: { icon: IconDeviceDesktop, key: "w", words: "lanes previews live" },
    file: pageFile(() => import("./fleet/wall.tsx")),
  },
  {
    path: "/ui/submit",
    title: "Submit",
    part: "fleet",
    guide: "/guide/rules/job-options",
    nav: { icon: IconSend, key: "n", words: "new job fetch url" },
    file: pageFile(() => import("./fleet/submit.tsx")),
  },
  {
    path: "/ui/jobs",
    title: "Jobs",
    part: "fleet",
    guide: "/guide/rules/jobs",
    nav: { icon: IconList, key: "j" },
    file: pageFile(() => import("./fleet/jobs.tsx")),
  },
  {
    path: "/ui/jobs/:job_id",
    title: "Job",
    part: "fleet",
    guide: "/guide/rules/documents",
    file: pageFile(() => import("./fleet/job.tsx")),
  },
  {
    path: "/ui/jobs/:job_id/diff/:other",
    title: "Difference",
    part: "fleet",
    guide: "/guide/rules/comparison",
    file: pageFile(() => import("./fleet/difference.tsx")),
  },
  {
    path: "/ui/watches",
    title: "Watches",
    part: "fleet",
    guide: "/guide/rules/watches",
    nav: { icon: IconEye, words: "changes schedule monitor captures" },
    file: pageFile(() => import("./fleet/watches.tsx")),
  },
  {
    path: "/ui/watches/:watch_id",
    title: "Watch",
    part: "fleet",
    guide: "/guide/rules/watches",
    file: pageFile(() => import("./fleet/watch.tsx")),
  },
  {
    path: "/ui/sessions/:sid",
    title: "Session",
    part: "fleet",
    guide: "/guide/rules/sessions",
    file: pageFile(() => import("./fleet/session.tsx")),
  },
  {
    path: "/ui/sessions",
    title: "Past sessions",
    part: "fleet",
    guide: "/guide/rules/sessions",
    nav: { icon: IconPlayerStop, words: "ended history who opened" },
    file: pageFile(() => import("./fleet/sessions.tsx")),
  },
  {
    path: "/ui/workers",
    title: "Browser workers",
    part: "fleet",
    guide: "/guide/rules/workers",
    nav: { icon: IconBrowser, key: "b", words: "drain standby lanes version" },
    file: pageFile(() => import("./fleet/workers.tsx")),
  },
  {
    path: "/ui/hosts",
    title: "Hosts",
    part: "fleet",
    guide: "/guide/rules/hosts",
    nav: { icon: IconWorld, key: "h", words: "recipes cookies login" },
    file: pageFile(() => import("./fleet/hosts.tsx")),
  },
  {
    path: "/ui/hosts/:host",
    title: "Host",
    part: "fleet",
    guide: "/guide/rules/recipes",
    file: pageFile(() => import("./fleet/host.tsx")),
  },
  {
    path: "/ui/profiles",
    title: "Profiles",
    part: "fleet",
    guide: "/guide/rules/profiles",
    nav: { icon: IconUser, words: "upload chrome extension default" },
    file: pageFile(() => import("./fleet/profiles.tsx")),
  },
  {
    path: "/ui/engines",
    title: "Engines",
    part: "fleet",
    guide: "/guide/rules/engines",
    nav: { icon: IconBrain, words: "llm model" },
    file: pageFile(() => import("./fleet/engines.tsx")),
  },
  {
    path: "/ui/presets",
    title: "Presets",
    part: "fleet",
    guide: "/guide/rules/library",
    nav: { icon: IconTemplate },
    file: pageFile(() => import("./fleet/presets.tsx")),
  },
  {
    path: "/ui/skills",
    title: "Skills",
    part: "fleet",
    guide: "/guide/rules/library",
    nav: { icon: IconBooks },
    file: pageFile(() => import("./fleet/skills.tsx")),
  },
  {
    path: "/ui/conventions",
    title: "Conventions",
    part: "fleet",
    guide: "/guide/rules/library",
    nav: { icon: IconShieldCheck, words: "rules" },
    file: pageFile(() => import("./fleet/conventions.tsx")),
  },
  {
    path: "/ui/fleet-settings",
    title: "Fleet settings",
    part: "fleet",
    guide: "/guide/rules/settings",
    nav: { icon: IconAdjustments, words: "retention webhook cors" },
    file: pageFile(() => import("./fleet/settings.tsx")),
  },

  {
    path: "/ui/pipeline",
    title: "Overview",
    part: "pipeline",
    guide: "/guide/concepts/pipeline",
    nav: { icon: IconGauge, key: "o", words: "dashboard problems" },
    file: pageFile(() => import("./pipeline/overview.tsx")),
  },
  {
    path: "/ui/workloads",
    title: "Workloads",
    part: "pipeline",
    guide: "/guide/rules/pipeline-workloads",
    nav: { icon: IconStack2, key: "l", words: "queues tasks create" },
    file: pageFile(() => import("./pipeline/workloads.tsx")),
  },
  {
    path: "/ui/workloads/:slug",
    title: "Workload",
    part: "pipeline",
    guide: "/guide/rules/pipeline-queue",
    file: pageFile(() => import("./pipeline/workload.tsx")),
  },
  {
    path: "/ui/runs",
    title: "Runs",
    part: "pipeline",
    guide: "/guide/rules/pipeline-runs",
    nav: { icon: IconActivity, key: "r", words: "failures attempts" },
    file: pageFile(() => import("./pipeline/runs.tsx")),
  },
  {
    path: "/ui/pull-workers",
    title: "Pipeline workers",
    part: "pipeline",
    guide: "/guide/rules/pipeline-pull",
    nav: { icon: IconServer, key: "p", words: "slots leases filter restart" },
    file: pageFile(() => import("./pipeline/workers.tsx")),
  },
  {
    path: "/ui/load",
    title: "CPU and GPU",
    part: "pipeline",
    guide: "/guide/rules/pipeline-views",
    nav: { icon: IconCpu, words: "charts metrics" },
    file: pageFile(() => import("./pipeline/load.tsx")),
  },
  {
    path: "/ui/flow",
    title: "Flow",
    part: "pipeline",
    guide: "/guide/rules/pipeline-views",
    nav: { icon: IconRoute, key: "f", words: "graph rates" },
    file: pageFile(() => import("./pipeline/flow.tsx")),
  },
  {
    path: "/ui/plugins",
    title: "Plugins",
    part: "pipeline",
    guide: "/guide/rules/pipeline-plugins",
    nav: { icon: IconPlug },
    file: pageFile(() => import("./pipeline/plugins.tsx")),
  },
  {
    path: "/ui/plugins/:slug",
    title: "Plugin",
    part: "pipeline",
    guide: "/guide/rules/pipeline-plugins",
    file: pageFile(() => import("./pipeline/plugin.tsx")),
  },
  {
    path: "/ui/agents",
    title: "Agents",
    part: "pipeline",
    guide: "/guide/rules/pipeline-agents",
    nav: { icon: IconServer, words: "elastic spawn stop instances" },
    file: pageFile(() => import("./pipeline/agents.tsx")),
  },
  {
    path: "/ui/logs",
    title: "Service logs",
    part: "pipeline",
    guide: "/guide/rules/pipeline-operations",
    nav: { icon: IconFileText, key: "s", words: "tail errors" },
    file: pageFile(() => import("./pipeline/logs.tsx")),
  },
  {
    path: "/ui/audit",
    title: "Audit log",
    part: "pipeline",
    guide: "/guide/rules/access",
    nav: { icon: IconHistory, words: "who changed security refused calls" },
    file: pageFile(() => import("./pipeline/audit.tsx")),
  },
  {
    path: "/ui/deploys",
    title: "Deploys",
    part: "pipeline",
    guide: "/guide/rules/pipeline-operations",
    nav: { icon: IconRocket },
    file: pageFile(() => import("./pipeline/deploys.tsx")),
  },
  {
    path: "/ui/settings",
    title: "Settings",
    part: "pipeline",
    guide: "/guide/rules/pipeline-operations",
    nav: { icon: IconSettings, words: "administrator llm test" },
    file: pageFile(() => import("./pipeline/settings.tsx")),
  },
  {
    path: "/ui/tokens",
    title: "Tokens",
    part: "pipeline",
    guide: "/guide/rules/access",
    nav: { icon: IconKey, words: "roles access login api revoke" },
    file: pageFile(() => import("./pipeline/tokens.tsx")),
  },
];

/** The pages this server has something for. */
export const PAGES = ALL.filter(({ part }) => info.fleet || part === "pipeline");

/** What `/` shows. */
export const HOME = homePath(info.fleet);

const pageAt = (path: string): PageEntry | undefined => {
  const wanted = path === "/" ? HOME : path;
  return PAGES.find((page) => isPagePath(page.path, wanted));
};

/** The address of the guide's page about the page at `path`. */
export const guideFor = (path: string): string => pageAt(path)?.guide ?? "/guide";

/** Fetches the file of the page at `path`, if there is one. @throws what the browser says when it does not come */
export async function loadPage(path: string): Promise<void> {
  await pageAt(path)?.file.load();
}
