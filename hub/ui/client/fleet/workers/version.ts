import type { Worker } from "#shared/protocol/schema/worker.ts";
import { updateWords } from "../../parts/updates/update-words.ts";

/** Two equal strings are no skew (rules/updates#when-versions-differ). */
export const isSkewed = ({ version }: Pick<Worker, "version">, hub_version: string): boolean =>
  version !== hub_version;

/** What happens to a worker with a version other than the hub's (rules/updates#states-of-an-update). */
export function nextOfUpdate({ alive, update }: Worker): string {
  if (update) return updateWords(update);
  if (!alive) return "It gets the hub's version after it reconnects.";
  return "It has reported no update. Unless SVC_WORKER_AUTO_FETCH_SOURCE or SVC_WORKER_AUTO_EXIT_ON_VERSION_MISMATCH is 0 there, it takes the hub's version by itself.";
}
