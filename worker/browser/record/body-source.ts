import type { BodySource } from "./ledger.ts";
import type { RequestEntry } from "./requests.ts";

/** Where the body of a request comes from, as the ledger enters it. */
export const sourceOf = (entry: RequestEntry): BodySource => ({
  request_id: entry.id,
  url: entry.url,
  page_url: entry.page_url,
  frame_url: entry.frame_url,
  mime: entry.mime,
  status: entry.response?.status ?? entry.wire_status,
  from_cache: entry.from_cache,
  from_service_worker: entry.response?.fromServiceWorker === true,
  paired:
    entry.from_cache ||
    entry.response?.fromServiceWorker === true ||
    entry.target.type === "service_worker",
});
