import type { Clock } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import { startLoop } from "#shared/kit/loop.ts";
import { LIVE_TAIL, type LiveRun, MAX_LIVE_RUNS } from "#shared/protocol/schema/pull-daemon.ts";
import type { LookAtOutput, ReadNotes, TaskInput } from "./executor.ts";

const TELL_EVERY_MS = 2_000;
/** Most tasks end before anybody could look at them. */
const YOUNG_MS = 1_500;

interface Begun {
  task: TaskInput;
  workload: string;
  since: number;
  look: LookAtOutput;
  notes: ReadNotes;
  /** `seq` of the notes that were last reported. */
  told: number;
}

/** Reports to the control plane every two seconds what longer-running tasks print (rules/pipeline-pull#live-output). */
export function startLiveRuns(deps: {
  clock: Clock;
  log: Log;
  tell(items: LiveRun[]): Promise<void>;
  /** Whether the control plane accepts notes that tasks write about themselves. */
  notes(): boolean;
}) {
  const { clock, log } = deps;
  const begun = new Map<number, Begun>();
  let told = false;
  const items = (): LiveRun[] => {
    const now = performance.now();
    return [...begun.values()]
      .filter(({ since }) => now - since >= YOUNG_MS)
      .slice(0, MAX_LIVE_RUNS)
      .map((one) => {
        const { task_id, epoch, pk, attempt } = one.task;
        const notes = deps.notes() ? one.notes() : null;
        const isNews = notes !== null && notes.seq > one.told;
        return {
          task_id,
          epoch,
          workload: one.workload,
          pk,
          attempt,
          running_ms: Math.round(now - one.since),
          ...one.look(LIVE_TAIL),
          ...(isNews ? { notes } : {}),
        };
      });
  };
  const pass = async () => {
    const now = items();
    if (now.length === 0 && !told) return;
    await deps.tell(now).then(
      () => {
        told = now.length > 0;
        for (const { task_id, notes } of now) {
          const one = begun.get(task_id);
          if (one && notes) one.told = notes.seq;
        }
      },
      // A failing heartbeat is logged as an error; this is only for people who watch.
      (err) => log.debug({ err: errorMessage(err) }, "could not report running tasks"),
    );
  };
  const loop = startLoop({ name: "live runs", everyMs: TELL_EVERY_MS, clock, log, pass });
  return {
    begin: (
      workload: string,
      task: TaskInput,
      look: LookAtOutput,
      notes: ReadNotes = () => null,
    ): void => {
      begun.set(task.task_id, { task, workload, since: performance.now(), look, notes, told: 0 });
    },
    end: (task: TaskInput): void => void begun.delete(task.task_id),
    stop: loop.stop,
  };
}
