import type { Worker } from "#shared/schema/worker.ts";

/** Two equal strings are no skew (fleet spec §9). */
export const isSkewed = ({ version }: Pick<Worker, "version">, hub_version: string): boolean =>
  version !== hub_version;

/** What becomes of a worker with another version than the hub's (fleet spec §3.5). */
export function nextOfUpdate({ alive, update }: Worker): string {
  if (!alive) return "It gets the hub's version when it connects again.";
  if (!update)
    return "It has told of no update. Unless SVC_WORKER_AUTO_FETCH_SOURCE or SVC_WORKER_AUTO_EXIT_ON_VERSION_MISMATCH is 0 there, it takes the hub's version at its next handshake.";
  if (update.state === "fetching")
    return `It is getting version ${update.target}. Then it lets its sessions come to an end and starts again.`;
  if (update.state === "waiting")
    return `It has version ${update.target} and waits for its open sessions; work goes on meanwhile.`;
  if (update.state === "draining")
    return `It finishes what runs, takes nothing new, and starts again with version ${update.target}.`;
  return `It keeps its version: ${update.error ?? "the update failed"}. It tries again when the hub offers another version or it is started again.`;
}
