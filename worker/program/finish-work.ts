import { type Clock, withDeadline } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import { RunStopped } from "#worker/browser/jobs/assignments.ts";

/** Cancelled runs: page 5 s, uploads 2 s, lane reset. */
const CANCEL_MS = 20_000;

interface Work {
  /** Resolves when nothing is running. */
  idle: Promise<unknown>;
  in_flight(): number;
  stopAll(why: RunStopped): void;
}

/** Lets running jobs and open sessions end within `drain_ms`, then ends what remains. */
export async function finishWork(
  work: Work,
  drain_ms: number,
  clock: Clock,
  log: Log,
): Promise<void> {
  const over = new AbortController();
  const idle = work.idle.then(() => over.abort());
  await clock.sleep(drain_ms, over.signal);
  if (over.signal.aborted) return;
  log.warn({ in_flight: work.in_flight(), drain_ms }, "cancelled running jobs and sessions");
  work.stopAll(new RunStopped("worker_stopping", "the worker is stopping"));
  await withDeadline("ending cancelled jobs", CANCEL_MS, idle, clock).catch((err) =>
    log.error({ err: errorMessage(err) }, "jobs left behind"),
  );
}
