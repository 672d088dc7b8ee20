import { addLoop } from "#shared/kit/loop.ts";
import type { Scope } from "#shared/kit/scope.ts";
import { IDEMPOTENCY_TTL_MS } from "#shared/protocol/limits.ts";
import { forgetOnce } from "./agents/forget.ts";
import { watchdogOnce } from "./agents/watchdog.ts";
import type { PipelineContext } from "./context.ts";
import { createBlobSweeper } from "./plugins/sweep.ts";
import { purgeOnce, retainOnce } from "./queue/retention.ts";
import { createScheduler } from "./schedules/schedules.ts";
import { superviseOnce } from "./supervisor/supervise.ts";

const RETAIN_EVERY_MS = 60_000;
const PURGE_EVERY_MS = 10_000;
/** Longer than an upload may take. */
const SWEEP_BLOBS_EVERY_MS = 3_600_000;
const FORGET_EVERY_MS = 3_600_000;
const WATCH_EVERY_MS = 5_000;
const SUPERVISE_EVERY_MS = 5_000;
/** Idempotency-Keys, including those of a hub's own calls: every hub is a control plane. */
const EXPIRE_EVERY_MS = 3_600_000;

const expireKeysOnce = async ({
  db,
  clock,
}: Pick<PipelineContext, "db" | "clock">): Promise<void> => {
  await db.idempotency.expire(clock.now() - IDEMPOTENCY_TTL_MS);
};

/** Starts what the pipeline does by itself besides the queue's sweeper; ends with `scope`. */
export function startPipelineLoops(
  ctx: Pick<
    PipelineContext,
    | "clock"
    | "config"
    | "db"
    | "disk_room"
    | "log"
    | "objects"
    | "operations"
    | "pipeline"
    | "wall_jumps"
  >,
  scope: Scope,
): void {
  const { clock, log } = ctx;
  const loop = (name: string, everyMs: number, pass: (signal: AbortSignal) => Promise<void>) =>
    addLoop(scope, { name, everyMs, clock, log, pass });
  loop("schedules", 0, createScheduler(ctx));
  loop("retention", RETAIN_EVERY_MS, (signal) => retainOnce(ctx, signal));
  loop("watchdog", WATCH_EVERY_MS, () => watchdogOnce(ctx));
  loop("supervisor", SUPERVISE_EVERY_MS, () => superviseOnce(ctx));
  loop("blob sweep", SWEEP_BLOBS_EVERY_MS, createBlobSweeper(ctx));
  loop("forgotten workers", FORGET_EVERY_MS, () => forgetOnce(ctx));
  loop("key expiry", EXPIRE_EVERY_MS, () => expireKeysOnce(ctx));
  loop("deleted queues", PURGE_EVERY_MS, (signal) => purgeOnce(ctx, signal));
}
