import {
  CHECK_LIMITS,
  type CheckRun,
  type CheckTask,
  MAX_BROKEN_ERROR,
} from "#shared/protocol/schema/executor.ts";
import { CANCELLED, type Executor, failed, type TaskEnd, type TaskOutcome } from "./executor.ts";

const DEFAULT_MS = 50_000;

/** Runs one task as a test (rules/pipeline-code#check-before-saving): it is in no queue, and nobody records it. */
export async function runCheckTask(
  executor: Executor,
  { pk, extra }: CheckTask,
  timeout_ms: number | undefined,
  signal: AbortSignal,
): Promise<CheckRun> {
  const task = { task_id: 1, epoch: 1, attempt: 1, max_attempts: 1, pk, extra };
  const ends: TaskEnd[] = [];
  await executor.run([task], {
    timeout_ms: timeout_ms ?? DEFAULT_MS,
    signal,
    onEnd: (end) => ends.push(end),
  });
  const [end] = ends;
  if (!end) throw new Error("the task did not end");
  const { stdout, stderr, notes } = end;
  const { output, cut } = bounded(end.outcome);
  const most = CHECK_LIMITS.stream;
  return {
    ...wordsOf(end.outcome),
    output,
    // The last lines of a traceback have the reason.
    stdout: stdout.slice(-most),
    stderr: stderr.slice(-most),
    log: (notes?.log ?? []).map(({ level, text }) => ({ level, text })),
    truncated: cut || end.truncated || stdout.length > most || stderr.length > most,
    duration_ms: end.duration_ms,
  };
}

function wordsOf(outcome: TaskOutcome): Pick<CheckRun, "outcome" | "error"> {
  if (outcome.kind === "done") return { outcome: "success", error: null };
  const end = outcome.kind === "failed" ? outcome : failed("error", outcome.reason || CANCELLED);
  const snoozed = end.retry_after_ms !== null;
  return {
    outcome: snoozed ? "snoozed" : end.outcome,
    error: end.error.slice(0, MAX_BROKEN_ERROR),
  };
}

/** An output that is too large is told as the beginning of its JSON. */
function bounded(outcome: TaskOutcome): { output: unknown; cut: boolean } {
  if (outcome.kind !== "done") return { output: null, cut: false };
  const text = JSON.stringify(outcome.output ?? null);
  if (text.length <= CHECK_LIMITS.output) return { output: outcome.output ?? null, cut: false };
  return { output: text.slice(0, CHECK_LIMITS.output), cut: true };
}
