import type { AgentRow, PullWorkerRow } from "#hub/platform/db/rows.ts";
import type { WallJumps } from "#shared/kit/wall-jumps.ts";
import type { PipelineContext } from "../context.ts";
import { isAlive } from "./agents.ts";

/** A worker that has been silent for this long was removed on purpose. */
const GIVEN_UP_MS = 24 * 3_600_000;

export interface WatchdogInput {
  workers: readonly PullWorkerRow[];
  /** Instances that a live agent keeps running: they are the agent's to restart. */
  kept: ReadonlySet<string>;
  silent_ms: number;
  wall_jumps: Pick<WallJumps, "ageOf">;
}

/** Workers that reported once and have gone silent, except those that announced a drain: they left on purpose. */
export const silentWorkers = ({
  workers,
  kept,
  silent_ms,
  wall_jumps,
}: WatchdogInput): PullWorkerRow[] =>
  workers.filter(({ worker_id, draining, last_heartbeat_at }) => {
    const silent = wall_jumps.ageOf(last_heartbeat_at);
    return !draining && silent > silent_ms && silent < GIVEN_UP_MS && !kept.has(worker_id);
  });

const keptBy = (agents: readonly AgentRow[]): Set<string> =>
  new Set(agents.flatMap((agent) => agent.desired.map((d) => d.instance_id)));

/** Restarts silent workers over SSH (rules/pipeline-agents#watchdog); off unless SVC_WATCHDOG_SILENT_S is set. */
export async function watchdogOnce(
  ctx: Pick<PipelineContext, "config" | "db" | "wall_jumps" | "operations">,
): Promise<void> {
  const { silent_ms } = ctx.config.watchdog;
  if (silent_ms === 0) return;
  const [workers, agents] = await Promise.all([ctx.db.pull_workers.list(), ctx.db.agents.list()]);
  const kept = keptBy(agents.filter((agent) => isAlive(ctx, agent)));
  const { wall_jumps } = ctx;
  for (const worker of silentWorkers({ workers, kept, silent_ms, wall_jumps }))
    await ctx.operations.restarts.restartSilent(worker);
}
