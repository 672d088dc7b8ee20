import type { PullHeartbeat } from "#shared/protocol/schema/pull.ts";
import type { UpdateReport } from "#shared/protocol/schema/updates.ts";
import type { PipelineContext } from "../context.ts";

/** A worker reports in its heartbeats that it updates on request; each report is valid for this long. */
const TOLD_MS = { counts: 60_000, again: 20_000 };
export const TOLD_PREFIX = "pull-update:";

export interface ToldUpdate {
  worker_id: string;
  report: UpdateReport | null;
}

/** What this process has written of each worker, and when: a heartbeat that says nothing new writes nothing. */
type Written = Map<string, { text: string; at: number }>;
const written = new WeakMap<PipelineContext["kv"], Written>();

/** Stores what a heartbeat reports about the worker's own update. */
export async function hearUpdate(
  { kv, clock }: Pick<PipelineContext, "kv" | "clock">,
  worker_id: string,
  update: PullHeartbeat["update"],
): Promise<void> {
  if (update === undefined) return;
  const mine = written.get(kv) ?? new Map();
  written.set(kv, mine);
  const told: ToldUpdate = { worker_id, report: update.report };
  const text = JSON.stringify(told);
  const before = mine.get(worker_id);
  const now = clock.monotonic();
  if (before?.text === text && now - before.at < TOLD_MS.again) return;
  await kv.set(TOLD_PREFIX + worker_id, told, TOLD_MS.counts);
  mine.set(worker_id, { text, at: now });
}
