import { invalid } from "#shared/kit/errors.ts";
import type { JobOptions } from "#shared/protocol/schema/job.ts";
import type { FleetContext } from "../context.ts";
import type { WorkerListContext } from "../links/link-contexts.ts";
import { ableWorkers, usableLanesOf } from "../links/shortage.ts";
import { listWorkers } from "../links/view.ts";
import { requireReplayable } from "./replay-index.ts";

const LOC = ["body", "options"];

/**
 * What a job needs that proves its scripts in replay (rules/scripts#proof-in-replay): the capture that it names, and a lane
 * besides its own, at the same hub. While no worker that replays is connected, nobody knows how many lanes there will be.
 * @throws AppError invalid
 */
export async function requireProof(
  ctx: WorkerListContext & Pick<FleetContext, "objects">,
  { prove_in_replay, proof_capture }: JobOptions,
): Promise<void> {
  if (!prove_in_replay) return;
  if (proof_capture !== null)
    await requireReplayable(ctx, proof_capture, [...LOC, "proof_capture"]);
  const lanes = new Map<string | null, number>();
  for (const worker of ableWorkers(await listWorkers(ctx)))
    if (worker.capabilities.replay)
      lanes.set(worker.link_hub, (lanes.get(worker.link_hub) ?? 0) + usableLanesOf(worker));
  const most = Math.max(...lanes.values());
  if (lanes.size === 0 || most >= 2) return;
  const which = lanes.size === 1 ? "connected workers have" : "workers of each hub have at most";
  throw invalid(
    [...LOC, "prove_in_replay"],
    `needs a second lane, for the replay: the ${which} ${most}`,
  );
}
