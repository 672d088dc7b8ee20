import { type ClaimedBatch, MAX_ERROR_LENGTH } from "#shared/protocol/schema/pull.ts";
import type { BrokenExecutors } from "./broken-executors.ts";
import { CANCELLED, type TaskEnd } from "./executor.ts";
import type { Flight } from "./flight.ts";
import type { Membership } from "./membership.ts";
import type { Outbox } from "./outbox.ts";

export interface ReportDeps {
  flight: Flight;
  outbox: Outbox;
  broken: BrokenExecutors;
  accepts: Membership["accepts"];
}

/** Puts the outcome of a task into the outbox. */
export type Report = (batch: Pick<ClaimedBatch, "workload" | "revision">, ended: TaskEnd) => void;

/** How a task ended, in the control plane's terms. */
export function createReport({ flight, outbox, broken, accepts }: ReportDeps): Report {
  return ({ workload, revision }, { task, outcome, notes, ...printed }) => {
    const { task_id, epoch } = task;
    // The task is lost: nobody needs its result.
    if (!flight.has(task)) return;
    flight.remove(task);
    const { duration_ms, stdout, stderr, truncated } = printed;
    const said = notes && accepts("notes") ? { notes } : {};
    const told = { task_id, epoch, duration_ms, stdout, stderr, truncated, ...said };
    const printedBytes = stdout.length + stderr.length;
    if (outcome.kind !== "not_run") broken.clear(workload);
    if (outcome.kind === "done") {
      const { output } = outcome;
      const bytes = printedBytes + (JSON.stringify(output)?.length ?? 0);
      const within = emits(output) && accepts("within") ? task.traceparent : undefined;
      outbox.add(
        "done",
        workload,
        { ...told, output, ...(within && { traceparent: within }) },
        bytes,
      );
    } else if (outcome.kind === "not_run" || outcome.error === CANCELLED) {
      // Stopped together with a neighbour that was lost: nothing is wrong with the executor.
      if (outcome.kind === "not_run" && outcome.broken)
        broken.mark(workload, revision, outcome.reason, stderr);
      outbox.add("released", workload, { task_id, epoch });
    } else if (outcome.retry_after_ms !== null && accepts("snooze")) {
      const { retry_after_ms, error } = outcome;
      const reason = error.slice(0, MAX_ERROR_LENGTH);
      outbox.add("released", workload, { task_id, epoch, retry_after_ms, reason }, reason.length);
    } else {
      const { kind: _kind, ...how } = outcome;
      const error = how.error.slice(0, MAX_ERROR_LENGTH);
      outbox.add("failed", workload, { ...told, workload, ...how, error }, printedBytes);
    }
  };
}

const emits = (output: unknown): boolean =>
  typeof output === "object" && output !== null && "emit" in output;
