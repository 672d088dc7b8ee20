import type { TaskHistory } from "#shared/protocol/schema/queue.ts";
import type { Look } from "../../parts/status/look.ts";
import { runLook } from "../../parts/status/run.ts";
import { taskLook } from "../../parts/status/task.ts";

type Span = [from: number, until: number];

/** An attempt of a task, as a line of its panel. */
export interface AttemptLine {
  key: string;
  attempt: number;
  run_id: number | null;
  look: Look;
  outcome: string;
  worker_id: string | null;
  waited: Span | null;
  /** From its claim to its report, on the clock of the queue. */
  held: Span | null;
  /** How long it ran, by its worker; null while nobody has reported. */
  duration_ms: number | null;
  at: string | null;
}

/** How long the attempt ran: what its worker measured, and until it has reported, the time since the claim. */
export function ranMs({
  held,
  duration_ms,
}: Pick<AttemptLine, "held" | "duration_ms">): number | null {
  if (duration_ms !== null) return duration_ms;
  return held && held[1] - held[0];
}

/** Every attempt with the time it waited before it (since the task was submitted or the attempt before ended) and ran. */
export function linesOf({ task, attempts }: TaskHistory, now: number): AttemptLine[] {
  let free = task ? Date.parse(task.created_at) : null;
  const lines: AttemptLine[] = attempts.map((run) => {
    const held: Span = [Date.parse(run.started_at), Date.parse(run.finished_at)];
    const waited: Span | null = free === null ? null : [Math.min(free, held[0]), held[0]];
    free = held[1];
    const { run_id, attempt, outcome, worker_id, duration_ms } = run;
    return {
      key: `${run_id}`,
      run_id,
      attempt,
      look: runLook(outcome),
      outcome,
      worker_id,
      waited,
      held,
      duration_ms,
      at: run.finished_at,
    };
  });
  if (task === null || task.state === "failed") return lines;
  const claimed = task.claimed_at !== null && task.state === "claimed";
  const begun = claimed && task.claimed_at ? Date.parse(task.claimed_at) : null;
  lines.push({
    key: "now",
    run_id: null,
    worker_id: task.worker_id,
    attempt: claimed ? task.attempt : task.attempt + 1,
    look: taskLook(task, now),
    outcome: claimed ? "running" : Date.parse(task.run_at) > now ? "delayed" : "pending",
    waited: free === null ? null : [free, begun ?? Math.max(now, free)],
    held: begun === null ? null : [begun, Math.max(now, begun)],
    duration_ms: null,
    at: claimed ? task.claimed_at : task.run_at,
  });
  return lines;
}
