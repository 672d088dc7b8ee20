import { newToken } from "#shared/protocol/ids.ts";
import type { Printed } from "./capture.ts";
import type { Child, Frame } from "./child.ts";
import { failed, type TaskInput, type TaskOutcome } from "./executor.ts";
import { createNotesTaker, type NotesTaker } from "./notes.ts";

/** A task that a child was given. */
export interface SentTask {
  task: TaskInput;
  /** What the child prints after this task's output. */
  nonce: string;
  /** stdout and stderr. */
  printed: Promise<[Printed, Printed]>;
  answer: PromiseWithResolvers<TaskOutcome>;
  answered: boolean;
  notes: NotesTaker;
}

/** The tasks of one batch on their way through a child. */
export interface SentTasks {
  /** Gives a batch to the child, all at once: it may print faster than its results are dealt with. */
  send(child: Child, tasks: readonly TaskInput[], timeout_ms: number | null): void;
  get(task: TaskInput): SentTask | undefined;
  remove(task: TaskInput): void;
  /** The child of the batch is gone. */
  clear(): void;
  /** Handles what a child reports about its tasks. */
  onFrame(frame: Frame): void;
}

export function createSentTasks(): SentTasks {
  /** By task id, in the order in which they were sent. */
  const sent = new Map<number, SentTask>();
  /** A batch has one context, that of its first task; its notes count for the task in progress. */
  let batch_head: number | null = null;

  const notesOf = (id: number): NotesTaker | undefined => {
    if (id !== batch_head) return sent.get(id)?.notes;
    return [...sent.values()].find((entry) => !entry.answered)?.notes;
  };
  return {
    send: (child, tasks, timeout_ms) => {
      const frames = tasks.map((task) => {
        const { task_id, epoch, attempt, max_attempts, pk, extra, traceparent } = task;
        const nonce = newToken().slice(0, 16);
        const printed = Promise.all([child.stdout.until(nonce), child.stderr.until(nonce)]);
        sent.set(task_id, {
          task,
          nonce,
          printed,
          answer: Promise.withResolvers<TaskOutcome>(),
          answered: false,
          notes: createNotesTaker(),
        });
        return {
          type: "task",
          id: task_id,
          epoch,
          attempt,
          max_attempts,
          pk,
          extra,
          nonce,
          deadline_ms: timeout_ms,
          ...(traceparent && { traceparent }),
        };
      });
      const [only] = frames;
      batch_head = frames.length === 1 ? null : (only?.id ?? null);
      child.send(frames.length === 1 && only ? only : { type: "batch", items: frames });
    },
    get: ({ task_id }) => sent.get(task_id),
    remove: ({ task_id }) => void sent.delete(task_id),
    clear: () => sent.clear(),
    onFrame: (frame) => {
      const id = Number(frame.id);
      if (frame.type === "progress" || frame.type === "log") return notesOf(id)?.take(frame);
      const entry = sent.get(id);
      if (!entry || frame.epoch !== entry.task.epoch) return;
      entry.answered ||= frame.type === "result" || frame.type === "error";
      if (frame.type === "result") entry.answer.resolve({ kind: "done", output: frame.output });
      if (frame.type === "error") entry.answer.resolve(failureOf(frame));
    },
  };
}

const failureOf = ({ message, retry_after_ms, no_retry }: Frame): TaskOutcome =>
  failed("error", String(message), {
    retry_after_ms: typeof retry_after_ms === "number" ? retry_after_ms : null,
    no_retry: no_retry === true,
  });
