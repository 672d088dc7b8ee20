import type { Job, PatchWatchInput, PutWatchInput, Watch } from "./client-types.ts";
import { type CallOptions, everyItem, type Http } from "./http.ts";

/** Pages that are captured again and again (rules/watches#calls). Their captures are `jobs.list({ watch })`. */
export function watchCalls(http: Http) {
  const of = (watch_id: string) => ({ params: { watch_id } });
  return {
    list: (call?: CallOptions): Promise<Watch[]> =>
      everyItem(http, "GET /watches", "watches", call),
    get: (watch_id: string, call?: CallOptions): Promise<Watch> =>
      http.call("GET /watches/{watch_id}", { ...call, ...of(watch_id) }),
    create: (watch: PutWatchInput, call?: CallOptions): Promise<Watch> =>
      http.call("POST /watches", { ...call, json: watch }),
    /** What is left out gets its default. */
    replace: (watch_id: string, watch: PutWatchInput, call?: CallOptions): Promise<Watch> =>
      http.call("PUT /watches/{watch_id}", { ...call, ...of(watch_id), json: watch }),
    /** What is left out stays. */
    change: (watch_id: string, fields: PatchWatchInput, call?: CallOptions): Promise<Watch> =>
      http.call("PATCH /watches/{watch_id}", { ...call, ...of(watch_id), json: fields }),
    delete: (watch_id: string, call?: CallOptions): Promise<null> =>
      http.call("DELETE /watches/{watch_id}", { ...call, ...of(watch_id) }),
    /** A capture now, whatever the schedule says; 409 while one is under way. */
    capture: (watch_id: string, call?: CallOptions): Promise<Job> =>
      http.call("POST /watches/{watch_id}/capture", { ...call, ...of(watch_id) }),
  };
}
