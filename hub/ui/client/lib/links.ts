import { seg, withQuery } from "./http.ts";

/** Addresses of what pages lead to; a list's own address is written where it is linked. */

type Query = Record<string, string | undefined>;

export const jobHref = (job_id: string, query: Query = {}): string =>
  withQuery(`/ui/captures/${seg(job_id)}`, query);

/** What changed from the job `from` to another. */
export const differenceHref = (from: string, job_id: string): string =>
  `/ui/captures/${seg(from)}/diff/${seg(job_id)}`;

export const watchHref = (watch_id: string): string => `/ui/captures/schedules/${seg(watch_id)}`;

/** An open one is live there, an ended one is its recording. */
export const sessionHref = (session_id: string): string => `/ui/browsers/${seg(session_id)}`;

/** Pages beside workloads; a workload of such a name is reached by the longer address. */
const TAKEN = ["runs", "flow", "failures", "workloads"];

export const workloadHref = (slug: string, query: Query = {}): string =>
  withQuery(`/ui/pipelines/${TAKEN.includes(slug) ? "workloads/" : ""}${seg(slug)}`, query);

export const hostHref = (host: string): string => `/ui/library/hosts/${seg(host)}`;

export const pluginHref = (slug: string): string => `/ui/library/plugins/${seg(slug)}`;

export const workersHref = (kind: "browser" | "pipeline" | "load", query: Query = {}): string =>
  withQuery("/ui/system/workers", { kind, ...query });
