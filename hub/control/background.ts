import { startLoop } from "#shared/loop.ts";
import type { Scope } from "#shared/scope.ts";
import type { ControlContext } from "./context.ts";
import { purgeOnce, retainOnce } from "./retention.ts";
import { scheduleOnce } from "./schedules.ts";

/** A tick of a schedule is late by at most this. */
const SCHEDULE_EVERY_MS = 1_000;
const RETAIN_EVERY_MS = 60_000;
const PURGE_EVERY_MS = 2_000;

/** Starts what the control plane does by itself beside the queue's sweeper; ends with `scope`. */
export function startControlLoops(ctx: ControlContext, scope: Scope): void {
  const { clock, log } = ctx;
  const loop = (name: string, everyMs: number, pass: (signal: AbortSignal) => Promise<void>) =>
    scope.add(name, startLoop({ name, everyMs, clock, log, pass }), (l) => l.stop());
  loop("schedules", SCHEDULE_EVERY_MS, () => scheduleOnce(ctx));
  loop("retention", RETAIN_EVERY_MS, (signal) => retainOnce(ctx, signal));
  loop("deleted queues", PURGE_EVERY_MS, (signal) => purgeOnce(ctx, signal));
}
