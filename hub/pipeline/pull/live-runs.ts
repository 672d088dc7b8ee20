import { isoTimeOrNull } from "#shared/kit/clock.ts";
import { notFound } from "#shared/kit/errors.ts";
import type { LiveRun, LiveRuns } from "#shared/protocol/schema/pull-daemon.ts";
import type { PipelineContext } from "../context.ts";
import { keepNotes, NO_NOTES, notesOf } from "../tasks/notes.ts";

/** A worker reports its running tasks every few seconds; once it stops, what it reported is no longer true. */
const LIVE_TTL_MS = 30_000;
const keyOf = (worker_id: string) => `pull-live:${worker_id}`;

interface Told {
  at: number;
  runs: Omit<LiveRun, "notes">[];
}

/** POST /workers/{id}/runs/logs: what runs now and what it printed last; replaces the previous report. */
export async function tellLiveRuns(
  ctx: Pick<PipelineContext, "clock" | "db" | "kv">,
  worker_id: string,
  told: LiveRun[],
): Promise<void> {
  // Notes of tasks outlive their worker.
  await keepNotes(ctx, told);
  const runs = told.map(({ notes: _notes, ...run }) => run);
  await ctx.kv.set(keyOf(worker_id), { at: ctx.clock.now(), runs }, LIVE_TTL_MS);
}

/** GET /workers/{id}/runs. @throws AppError not_found */
export async function liveRuns(
  ctx: Pick<PipelineContext, "db" | "kv">,
  worker_id: string,
): Promise<LiveRuns> {
  if (!(await ctx.db.pull_workers.get(worker_id))) throw notFound("worker");
  const told = await ctx.kv.get<Told>(keyOf(worker_id));
  const runs = told?.runs ?? [];
  const said = await notesOf(ctx, runs);
  return {
    at: isoTimeOrNull(told?.at ?? null),
    runs: runs.map((run, i) => ({ ...run, ...(said[i] ?? NO_NOTES) })),
  };
}
