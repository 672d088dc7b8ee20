import { createBoundedLabel, MOST_WORKLOADS } from "#shared/kit/bounded-label.ts";
import { RUN_S } from "#shared/kit/histogram-buckets.ts";
import type { Meters } from "./meters.ts";

/** `not_run`: it was given back before it began, which costs no attempt. */
type TaskOutcome = "done" | "error" | "timeout" | "crashed" | "not_run";

/** What the slots of a worker count (rules/metrics#of-a-worker). */
export type TaskMeters = ReturnType<typeof createTaskMeters>;

export function createTaskMeters(meters: Meters) {
  const tasks = meters.counter(
    "flotilla_worker_tasks_total",
    "Attempts at tasks that ended here, by workload and outcome",
    ["workload", "outcome"],
  );
  const seconds = meters.histogram(
    "flotilla_worker_task_seconds",
    "How long an attempt at a task took",
    RUN_S,
    ["outcome"],
  );
  const nameOf = createBoundedLabel(MOST_WORKLOADS);
  return {
    taskEnded: (slug: string, outcome: TaskOutcome, ms: number) => {
      tasks.inc({ workload: nameOf(slug), outcome });
      if (outcome !== "not_run") seconds.observe({ outcome }, ms / 1_000);
    },
  };
}

/** What a scrape asks a pull worker for. */
export interface TaskFigures {
  slots: number;
  /** Slots with a batch, or held for a claim that is under way. */
  taken: number;
  /** Tasks that are claimed and whose report was not taken yet. */
  in_flight: number;
  /** Reports that the control plane has not answered. */
  reports: number;
  /** Workloads whose code does not load here. */
  broken: number;
}

export function addTaskReadings(meters: Meters, read: () => TaskFigures): void {
  const slots = meters.gauge("flotilla_worker_slots", "Slots of this worker");
  const taken = meters.gauge(
    "flotilla_worker_slots_taken",
    "Slots with a batch, or held for a claim that is under way",
  );
  const in_flight = meters.gauge("flotilla_worker_tasks_in_flight", "Tasks that are claimed here");
  const reports = meters.gauge(
    "flotilla_worker_reports_waiting",
    "Reports that the control plane has not answered yet",
  );
  const broken = meters.gauge(
    "flotilla_worker_executors_broken",
    "Workloads whose code does not load on this worker",
  );
  meters.reading("tasks", [slots, taken, in_flight, reports, broken], () => {
    const now = read();
    slots.set(now.slots);
    taken.set(now.taken);
    in_flight.set(now.in_flight);
    reports.set(now.reports);
    broken.set(now.broken);
  });
}
