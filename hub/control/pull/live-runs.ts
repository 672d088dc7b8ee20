import { isoTimeOrNull } from "#shared/clock.ts";
import { notFound } from "#shared/errors.ts";
import type { LiveRun } from "#shared/schema/pull-daemon.ts";
import type { ControlContext } from "../context.ts";

/** A worker tells of its running tasks every few seconds; when it stops, what it said is no longer true. */
const LIVE_TTL_MS = 30_000;
const keyOf = (worker_id: string) => `pull-live:${worker_id}`;

interface Told {
  at: number;
  runs: LiveRun[];
}

/** POST /workers/{id}/runs/logs: what runs now and what it printed last; takes the place of what was told before. */
export const tellLiveRuns = (
  { kv, clock }: ControlContext,
  worker_id: string,
  runs: LiveRun[],
): Promise<void> => kv.set(keyOf(worker_id), { at: clock.now(), runs }, LIVE_TTL_MS);

/** GET /workers/{id}/runs. @throws AppError not_found */
export async function liveRuns(
  ctx: ControlContext,
  worker_id: string,
): Promise<{ at: string | null; runs: LiveRun[] }> {
  if (!(await ctx.db.pull_workers.get(worker_id))) throw notFound("worker");
  const told = await ctx.kv.get<Told>(keyOf(worker_id));
  return { at: isoTimeOrNull(told?.at ?? null), runs: told?.runs ?? [] };
}
