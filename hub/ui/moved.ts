/** Where pages were before they had a place, by the first part of their address; what follows it is the same. */
const MOVED: Record<string, string> = {
  wall: "/ui/browsers",
  submit: "/ui/captures/new",
  jobs: "/ui/captures",
  watches: "/ui/captures/schedules",
  pipeline: "/ui/home",
  runs: "/ui/pipelines/runs",
  flow: "/ui/pipelines/flow",
  hosts: "/ui/library/hosts",
  profiles: "/ui/library/profiles",
  skills: "/ui/library/skills",
  presets: "/ui/library/presets",
  engines: "/ui/library/engines",
  conventions: "/ui/library/conventions",
  plugins: "/ui/library/plugins",
  workers: "/ui/system/workers?kind=browser",
  "pull-workers": "/ui/system/workers?kind=pipeline",
  load: "/ui/system/workers?kind=load",
  agents: "/ui/system/agents",
  logs: "/ui/system/logs",
  deploys: "/ui/system/deploys",
  tokens: "/ui/system/tokens",
  audit: "/ui/system/audit",
  settings: "/ui/system/settings?part=pipeline",
  "fleet-settings": "/ui/system/settings",
};

/** A list was somewhere else than what is in it. */
function baseOf(first: string, rest: string): string | undefined {
  if (first === "sessions") return rest === "" ? "/ui/browsers/past" : "/ui/browsers";
  if (first !== "workloads") return Object.hasOwn(MOVED, first) ? MOVED[first] : undefined;
  // A workload may have the name of a page.
  return /^\/(runs|flow|workloads)$/.test(rest) ? "/ui/pipelines/workloads" : "/ui/pipelines";
}

/**
 * Where the page of an old address is now, with the query it was given; null where the address is none.
 * @param search with its `?`, or empty
 */
export function movedTo(path: string, search: string): string | null {
  const [, first = "", rest = ""] = /^\/ui\/([a-z-]+)(\/.*)?$/.exec(path) ?? [];
  const base = baseOf(first, rest);
  if (base === undefined) return null;
  const [to = "", extra = ""] = base.split("?");
  const query = [extra, search.slice(1)].filter((part) => part !== "").join("&");
  return `${to}${rest}${query === "" ? "" : `?${query}`}`;
}
