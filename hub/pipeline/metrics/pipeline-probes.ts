import type { Probes } from "#hub/platform/http/probes.ts";
import { isoTime, withDeadline } from "#shared/kit/clock.ts";
import { KV_READ_TIMEOUT_MS } from "#shared/protocol/limits.ts";
import type { Pressure, ProbeReason } from "#shared/protocol/schema/probes.ts";
import type { PipelineContext } from "../context.ts";
import { isLive } from "../pull/is-live.ts";

/** What a control plane that serves alone says to those who send it work. */
export const pipelineProbes = (
  ctx: Pick<PipelineContext, "pipeline" | "db" | "clock" | "wall_jumps" | "disk_room">,
): Probes => ({
  notReady: () => notReady(ctx),
  pressure: () => readPressure(ctx),
});

async function notReady({
  pipeline,
  db,
  clock,
}: Pick<PipelineContext, "pipeline" | "db" | "clock">): Promise<ProbeReason[]> {
  if (pipeline.stopping.aborted)
    return [{ reason: "stopping", detail: "the control plane is stopping" }];
  const answers = withDeadline("database", KV_READ_TIMEOUT_MS, db.ping(), clock);
  return answers.then(
    () => [],
    () => [{ reason: "database", detail: "the database does not answer" }],
  );
}

async function readPressure(
  ctx: Pick<PipelineContext, "pipeline" | "db" | "clock" | "wall_jumps" | "disk_room">,
): Promise<Pressure> {
  const { pipeline, db, clock, wall_jumps, disk_room } = ctx;
  const [now, counts, oldest, rows] = await Promise.all([
    pipeline.store.now(),
    pipeline.store.counts(),
    db.views.oldestReady(),
    db.pull_workers.list(),
  ]);
  const live = rows.filter((row) => isLive(wall_jumps, row));
  const sum = (key: "ready" | "claimed") => counts.reduce((n, row) => n + Math.max(0, row[key]), 0);
  const queued = sum("ready");
  const since = Math.min(...oldest.map(({ created_at }) => created_at));
  const { shortage } = disk_room;
  const reasons: ProbeReason[] = [];
  if (pipeline.stopping.aborted)
    reasons.push({ reason: "stopping", detail: "the control plane is stopping" });
  if (shortage !== null) reasons.push({ reason: "hub_disk_full", detail: shortage });
  if (live.length === 0) reasons.push({ reason: "no_worker", detail: "no worker is connected" });
  else if (live.every(({ draining }) => draining))
    reasons.push({ reason: "workers_paused", detail: "every connected worker is draining" });
  return {
    is_available: reasons.length === 0,
    reasons,
    running: sum("claimed"),
    max_running: null,
    queued,
    oldest_queued_s: Number.isFinite(since) ? Math.max(0, now - since) / 1_000 : null,
    workers: live.length,
    at: isoTime(clock.now()),
  };
}
