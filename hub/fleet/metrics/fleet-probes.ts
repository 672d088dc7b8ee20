import type { Probes } from "#hub/platform/http/probes.ts";
import { isoTime, withDeadline } from "#shared/kit/clock.ts";
import { KV_READ_TIMEOUT_MS } from "#shared/protocol/limits.ts";
import type { Pressure, ProbeReason } from "#shared/protocol/schema/probes.ts";
import type { FleetContext } from "../context.ts";
import { hubShortage } from "../links/hub-shortage.ts";
import type { FleetCountContext, WorkerListContext } from "../links/link-contexts.ts";
import { ableWorkers, laneShortage, usableLanesOf } from "../links/shortage.ts";
import { countFleet, listWorkers } from "../links/view.ts";

const FRESH_MS = 1_000;

/** What a hub says to those who send it work. */
export function fleetProbes(
  ctx: WorkerListContext & Pick<FleetContext, "disk_room" | "draining">,
): Probes {
  let told: { at: number; pressure: Promise<Pressure> } | null = null;
  return {
    notReady: () => notReady(ctx),
    pressure: () => {
      const now = ctx.clock.monotonic();
      if (told !== null && now - told.at < FRESH_MS) return told.pressure;
      const one = { at: now, pressure: readPressure(ctx) };
      told = one;
      // A refusal is not used again.
      one.pressure.catch(() => {
        if (told === one) told = null;
      });
      return one.pressure;
    },
  };
}

async function notReady(
  ctx: FleetCountContext & Pick<FleetContext, "db" | "draining">,
): Promise<ProbeReason[]> {
  if (ctx.draining.aborted)
    return [{ reason: "stopping", detail: "the hub is stopping and no longer assigns anything" }];
  const [store, fleet] = await Promise.allSettled([
    withDeadline("database", KV_READ_TIMEOUT_MS, ctx.db.ping(), ctx.clock),
    countFleet(ctx),
  ]);
  const reasons: ProbeReason[] = [];
  if (store.status === "rejected")
    reasons.push({ reason: "database", detail: "the database does not answer" });
  if (fleet.status === "rejected")
    reasons.push({ reason: "worker_registry", detail: "the worker registry does not answer" });
  return reasons;
}

async function readPressure(
  ctx: WorkerListContext & Pick<FleetContext, "disk_room" | "draining">,
): Promise<Pressure> {
  const { clock, db } = ctx;
  const [workers, queue] = await Promise.all([listWorkers(ctx), db.figures.queue()]);
  const connected = workers.filter(({ alive }) => alive);
  const why = hubShortage(ctx, workers) ?? laneShortage(workers);
  const reasons: ProbeReason[] = why === null ? [] : [why];
  return {
    is_available: reasons.length === 0,
    reasons,
    running: connected.reduce((n, { in_flight }) => n + in_flight, 0),
    max_running: ableWorkers(workers).reduce((n, worker) => n + usableLanesOf(worker), 0),
    queued: queue.queued,
    oldest_queued_s: queue.oldest === null ? null : Math.max(0, clock.now() - queue.oldest) / 1_000,
    workers: connected.length,
    at: isoTime(clock.now()),
  };
}
