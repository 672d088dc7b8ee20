import type { Clock } from "#shared/kit/clock.ts";
import type { Log } from "#shared/kit/log.ts";
import { RunStopped } from "#worker/browser/jobs/assignments.ts";
import type { WorkerLink } from "#worker/link/client.ts";
import { finishWork } from "./finish-work.ts";
import type { LaneWork } from "./lane-work.ts";
import type { SelfReport } from "./self-report.ts";

export interface LeavingDeps {
  work: LaneWork;
  report: Pick<SelfReport, "drain" | "changedLanes">;
  session: WorkerLink["session"];
  clock: Clock;
  log: Log;
}

/** How a worker takes no further work and lets what runs come to its end. */
export interface Leaving {
  /** Before another version runs: jobs are never cut short, sessions end at `until` (monotonic) at the latest. */
  forUpdate(why: string, until: number): Promise<void>;
  /** Before the program ends: what still runs after `drain_ms` is cancelled. */
  forGood(drain_ms: number): Promise<void>;
}

export function createLeaving(deps: LeavingDeps): Leaving {
  const { work, report, clock, log } = deps;
  const { assignments, desk } = work;
  const refuse = (why: string) => {
    assignments.refuse(why);
    report.drain(why);
    for (const lane of report.changedLanes()) deps.session()?.send({ type: "LaneChanged", lane });
  };
  return {
    forUpdate: async (why, until) => {
      refuse(why);
      const gone = new AbortController();
      void clock.sleep(Math.max(0, until - clock.monotonic()), gone.signal).then(() => {
        if (!gone.signal.aborted) desk.stopAll(new RunStopped("worker_stopping", why));
      });
      await Promise.all([assignments.idle(), desk.idle().finally(() => gone.abort())]);
    },
    forGood: async (drain_ms) => {
      log.info({ in_flight: work.in_flight() }, "worker draining");
      refuse("worker is stopping");
      const { in_flight, stopAll } = work;
      await finishWork({ idle: work.idle(), stopAll, in_flight }, drain_ms, clock, log);
    },
  };
}
