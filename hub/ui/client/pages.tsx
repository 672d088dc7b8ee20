import {
  type Icon,
  IconActivity,
  IconAdjustments,
  IconBooks,
  IconBrain,
  IconBrowser,
  IconCpu,
  IconDeviceDesktop,
  IconFileText,
  IconGauge,
  IconList,
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
import { type ComponentType, lazy } from "react";
import { info } from "./lib/info.ts";

export interface PageEntry {
  /** Pattern of its address, with `:name` for what varies. */
  path: string;
  title: string;
  part: "fleet" | "pipeline";
  /** In the navigation and the palette; pages of one thing are reached from their list. */
  nav?: { icon: Icon; key?: string; words?: string };
  Page: ComponentType<{ params: Record<string, string> }>;
}

type PageModule = { Page: ComponentType<{ params: Record<string, string> }> };
const page = (load: () => Promise<PageModule>) =>
  lazy(async () => ({ default: (await load()).Page }));

const ALL: PageEntry[] = [
  {
    path: "/ui/wall",
    title: "Wall",
    part: "fleet",
    nav: { icon: IconDeviceDesktop, key: "w", words: "lanes previews live" },
    Page: page(() => import("./fleet/wall.tsx")),
  },
  {
    path: "/ui/submit",
    title: "Submit",
    part: "fleet",
    nav: { icon: IconSend, key: "n", words: "new job fetch url" },
    Page: page(() => import("./fleet/submit.tsx")),
  },
  {
    path: "/ui/jobs",
    title: "Jobs",
    part: "fleet",
    nav: { icon: IconList, key: "j" },
    Page: page(() => import("./fleet/jobs.tsx")),
  },
  {
    path: "/ui/jobs/:job_id",
    title: "Job",
    part: "fleet",
    Page: page(() => import("./fleet/job.tsx")),
  },
  {
    path: "/ui/sessions/:sid",
    title: "Session",
    part: "fleet",
    Page: page(() => import("./fleet/session.tsx")),
  },
  {
    path: "/ui/workers",
    title: "Browser workers",
    part: "fleet",
    nav: { icon: IconBrowser, key: "b", words: "drain standby lanes version" },
    Page: page(() => import("./fleet/workers.tsx")),
  },
  {
    path: "/ui/hosts",
    title: "Hosts",
    part: "fleet",
    nav: { icon: IconWorld, key: "h", words: "recipes cookies login" },
    Page: page(() => import("./fleet/hosts.tsx")),
  },
  {
    path: "/ui/hosts/:host",
    title: "Host",
    part: "fleet",
    Page: page(() => import("./fleet/host.tsx")),
  },
  {
    path: "/ui/profiles",
    title: "Profiles",
    part: "fleet",
    nav: { icon: IconUser, words: "upload chrome extension default" },
    Page: page(() => import("./fleet/profiles.tsx")),
  },
  {
    path: "/ui/engines",
    title: "Engines",
    part: "fleet",
    nav: { icon: IconBrain, words: "llm model" },
    Page: page(() => import("./fleet/engines.tsx")),
  },
  {
    path: "/ui/presets",
    title: "Presets",
    part: "fleet",
    nav: { icon: IconTemplate },
    Page: page(() => import("./fleet/presets.tsx")),
  },
  {
    path: "/ui/skills",
    title: "Skills",
    part: "fleet",
    nav: { icon: IconBooks },
    Page: page(() => import("./fleet/skills.tsx")),
  },
  {
    path: "/ui/conventions",
    title: "Conventions",
    part: "fleet",
    nav: { icon: IconShieldCheck, words: "rules" },
    Page: page(() => import("./fleet/conventions.tsx")),
  },
  {
    path: "/ui/fleet-settings",
    title: "Fleet settings",
    part: "fleet",
    nav: { icon: IconAdjustments, words: "retention webhook cors" },
    Page: page(() => import("./fleet/settings.tsx")),
  },

  {
    path: "/ui/pipeline",
    title: "Overview",
    part: "pipeline",
    nav: { icon: IconGauge, key: "o", words: "dashboard problems" },
    Page: page(() => import("./pipeline/overview.tsx")),
  },
  {
    path: "/ui/workloads",
    title: "Workloads",
    part: "pipeline",
    nav: { icon: IconStack2, key: "l", words: "queues tasks create" },
    Page: page(() => import("./pipeline/workloads.tsx")),
  },
  {
    path: "/ui/workloads/:slug",
    title: "Workload",
    part: "pipeline",
    Page: page(() => import("./pipeline/workload.tsx")),
  },
  {
    path: "/ui/runs",
    title: "Runs",
    part: "pipeline",
    nav: { icon: IconActivity, key: "r", words: "failures attempts" },
    Page: page(() => import("./pipeline/runs.tsx")),
  },
  {
    path: "/ui/pull-workers",
    title: "Pipeline workers",
    part: "pipeline",
    nav: { icon: IconServer, key: "p", words: "slots leases filter restart" },
    Page: page(() => import("./pipeline/workers.tsx")),
  },
  {
    path: "/ui/load",
    title: "CPU and GPU",
    part: "pipeline",
    nav: { icon: IconCpu, words: "charts metrics" },
    Page: page(() => import("./pipeline/load.tsx")),
  },
  {
    path: "/ui/flow",
    title: "Flow",
    part: "pipeline",
    nav: { icon: IconRoute, key: "f", words: "graph rates" },
    Page: page(() => import("./pipeline/flow.tsx")),
  },
  {
    path: "/ui/plugins",
    title: "Plugins",
    part: "pipeline",
    nav: { icon: IconPlug },
    Page: page(() => import("./pipeline/plugins.tsx")),
  },
  {
    path: "/ui/plugins/:slug",
    title: "Plugin",
    part: "pipeline",
    Page: page(() => import("./pipeline/plugin.tsx")),
  },
  {
    path: "/ui/agents",
    title: "Agents",
    part: "pipeline",
    nav: { icon: IconServer, words: "elastic spawn stop instances" },
    Page: page(() => import("./pipeline/agents.tsx")),
  },
  {
    path: "/ui/logs",
    title: "Service logs",
    part: "pipeline",
    nav: { icon: IconFileText, key: "s", words: "tail errors" },
    Page: page(() => import("./pipeline/logs.tsx")),
  },
  {
    path: "/ui/deploys",
    title: "Deploys",
    part: "pipeline",
    nav: { icon: IconRocket },
    Page: page(() => import("./pipeline/deploys.tsx")),
  },
  {
    path: "/ui/settings",
    title: "Settings",
    part: "pipeline",
    nav: { icon: IconSettings, words: "administrator llm test" },
    Page: page(() => import("./pipeline/settings.tsx")),
  },
];

/** The pages this server has something for. */
export const PAGES = ALL.filter(({ part }) => info.fleet || part === "pipeline");

/** What `/` shows. */
export const HOME = info.fleet ? "/ui/wall" : "/ui/pipeline";
