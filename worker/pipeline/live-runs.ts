import type { Clock } from "#shared/clock.ts";
import { errorMessage } from "#shared/errors.ts";
import type { Log } from "#shared/log.ts";
import { startLoop } from "#shared/loop.ts";
import { LIVE_TAIL, type LiveRun, MAX_LIVE_RUNS } from "#shared/schema/pull-daemon.ts";
import type { LookAtOutput, TaskInput } from "./types.ts";

const TELL_EVERY_MS = 2_000;
/** Most tasks are over before anybody could look at them. */
const YOUNG_MS = 1_500;

interface Begun {
  task: TaskInput;
  workload: string;
  since: number;
  look: LookAtOutput;
}

/** Tells the control plane every two seconds what the tasks that run for longer print (pipeline spec §4.3, runs). */
export function startLiveRuns(deps: {
  clock: Clock;
  log: Log;
  tell(items: LiveRun[]): Promise<void>;
}) {
  const { clock, log } = deps;
  const begun = new Map<number, Begun>();
  let told = false;
  const items = (): LiveRun[] => {
    const now = performance.now();
    return [...begun.values()]
      .filter(({ since }) => now - since >= YOUNG_MS)
      .slice(0, MAX_LIVE_RUNS)
      .map(({ task: { task_id, epoch, pk, attempt }, workload, since, look }) => ({
        ...{ task_id, epoch, workload, pk, attempt },
        running_ms: Math.round(now - since),
        ...look(LIVE_TAIL),
      }));
  };
  const pass = async () => {
    const now = items();
    if (now.length === 0 && !told) return;
    await deps.tell(now).then(
      () => {
        told = now.length > 0;
      },
      // The heartbeat says it loudly; this is only for those who watch.
      (err) => log.debug({ err: errorMessage(err) }, "running tasks could not be told"),
    );
  };
  const loop = startLoop({ name: "live runs", everyMs: TELL_EVERY_MS, clock, log, pass });
  return {
    begin: (workload: string, task: TaskInput, look: LookAtOutput): void => {
      begun.set(task.task_id, { task, workload, since: performance.now(), look });
    },
    end: (task: TaskInput): void => void begun.delete(task.task_id),
    stop: loop.stop,
  };
}
