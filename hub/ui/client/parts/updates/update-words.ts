import type { WorkerUpdate } from "#shared/protocol/schema/updates.ts";

/** What stands in a badge. */
export const UPDATE_LABELS: Record<WorkerUpdate["state"], string> = {
  held: "held",
  starting: "starting",
  fetching: "fetching",
  waiting: "waiting",
  draining: "draining",
  restarting: "restarting",
  proving: "proving",
  failed: "failed",
  off: "off",
};

export const updateColor = (update: WorkerUpdate | null | undefined): string =>
  update?.state === "failed" ? "red" : update?.state === "held" ? "gray" : "orange";

/** What happens to a worker on its way to another version (rules/updates#states-of-an-update). */
export function updateWords({ target, state, error }: WorkerUpdate): string {
  switch (state) {
    case "held":
      return `It takes version ${target} when it is its turn; work goes on meanwhile.`;
    case "starting":
      return `It is its turn to take version ${target}.`;
    case "fetching":
      return `It is getting version ${target}. Then it lets its sessions come to an end and starts again.`;
    case "waiting":
      return `It has version ${target} and waits for its open sessions; work goes on meanwhile.`;
    case "draining":
      return `It finishes what runs, takes nothing new, and starts again with version ${target}.`;
    case "restarting":
      return `It is away, and comes back with version ${target}.`;
    case "proving":
      return `It is back with version ${target} and must show that it works${error ? `: ${error}` : "."}`;
    case "failed":
      return `Its update to ${target} failed: ${error ?? "it gave no reason"}.`;
    case "off":
      return `It keeps its version: ${error ?? "it does not update itself"}.`;
  }
}
