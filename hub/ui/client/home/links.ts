import { withQuery } from "../lib/http.ts";

/** Where what Home shows leads; addresses of single things are in `lib/links.ts`. */

type Query = Record<string, string | undefined>;

export const capturesHref = (query: Query = {}): string => withQuery("/ui/captures", query);
export const newCaptureHref = "/ui/captures/new";
export const wallHref = "/ui/browsers";
export const workloadsHref = "/ui/pipelines";
export const runsHref = (query: Query = {}): string => withQuery("/ui/pipelines/runs", query);
export const settingsHref = "/ui/system/settings";
