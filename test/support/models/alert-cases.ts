/** Series as `promtool test rules` takes them: one value a minute, in its notation. */
type Series = Readonly<Record<string, string>>;

export interface AlertCase {
  /** Series with which it fires. */
  fires: Series;
  /** Series that look alike, with which it does not. */
  quiet: Series;
  /** Labels of what fires besides its name and severity. */
  labels?: Readonly<Record<string, string>>;
}

const HUB = 'instance="hub-1:8000",job="flotilla"';
const WORKER = 'instance="w1:9464",job="flotilla-workers"';
const of = (name: string, labels: string, from = HUB) =>
  `${name}{${[labels, from].filter((part) => part !== "").join(",")}}`;
const at_hub = { instance: "hub-1:8000", job: "flotilla" };
const at_worker = { instance: "w1:9464", job: "flotilla-workers" };
const only_instance = { instance: "hub-1:8000" };
/** Minutes of a case; longer than every `for` and range of the rules. */
export const MINUTES = 150;
const always = (value: number) => `${value}x${MINUTES}`;
/** A counter that grows by `n` a minute. */
const growing = (n: number) => `0+${n}x${MINUTES}`;

const captured = (captured_bodies: number, lost: number): Series => ({
  [of("flotilla_capture_bodies_total", 'outcome="captured"')]: growing(captured_bodies),
  [of("flotilla_capture_bodies_total", 'outcome="lost"')]: growing(lost),
});
const finished = (completed: number, failed: number): Series => ({
  [of("flotilla_jobs_finished_total", 'status="completed"')]: growing(completed),
  [of("flotilla_jobs_finished_total", 'status="failed"')]: growing(failed),
});
const stuck = (waiting: string, done: string, n: number): Series => ({
  [of(waiting, "", WORKER)]: always(3),
  [of(done, done.includes("tasks") ? 'workload="a",outcome="done"' : "", WORKER)]: growing(n),
});
const one = (name: string, labels: string, fires: string, quiet: string) => ({
  fires: { [of(name, labels)]: fires },
  quiet: { [of(name, labels)]: quiet },
});

/** A case for each alert of `scripts/monitoring/flotilla-alerts.yml`. */
export const ALERT_CASES: Readonly<Record<string, AlertCase>> = {
  FlotillaDown: { ...one("up", "", always(0), always(1)), labels: at_hub },
  FlotillaDegraded: {
    ...one("flotilla_degraded", 'part="disk"', always(1), always(0)),
    labels: { ...at_hub, part: "disk" },
  },
  FlotillaDiskShort: {
    fires: {
      [of("flotilla_disk_free_bytes", "")]: always(900),
      [of("flotilla_disk_reserve_bytes", "")]: always(500),
    },
    quiet: {
      [of("flotilla_disk_free_bytes", "")]: always(1_100),
      [of("flotilla_disk_reserve_bytes", "")]: always(500),
    },
    labels: at_hub,
  },
  FlotillaNoLanes: {
    fires: {
      [of("flotilla_lanes", 'state="warm"')]: always(0),
      [of("flotilla_jobs_queued", "")]: always(2),
    },
    quiet: {
      [of("flotilla_lanes", 'state="running"')]: always(1),
      [of("flotilla_jobs_queued", "")]: always(2),
    },
  },
  FlotillaLanesBroken: {
    ...one("flotilla_lanes", 'state="dead"', always(1), always(0)),
    labels: only_instance,
  },
  FlotillaJobsWait: one("flotilla_jobs_oldest_queued_seconds", "", always(150), always(90)),
  FlotillaJobsOverdue: one("flotilla_jobs_overdue_total", "", growing(1), always(4)),
  FlotillaJobsFail: { fires: finished(2, 1), quiet: finished(9, 1) },
  FlotillaCaptureLoss: { fires: captured(9, 1), quiet: captured(99, 1) },
  FlotillaUploadsRefused: {
    ...one("flotilla_uploads_refused_total", 'way="single"', growing(1), growing(0.25)),
    labels: only_instance,
  },
  FlotillaTasksWait: {
    ...one("flotilla_task_oldest_ready_seconds", 'workload="a"', always(4_000), always(3_000)),
    labels: { workload: "a" },
  },
  FlotillaTasksFail: {
    ...one("flotilla_tasks", 'workload="a",state="failed"', growing(2), always(900)),
    labels: { workload: "a" },
  },
  FlotillaNoPullWorker: {
    fires: {
      [of("flotilla_pull_workers", 'state="live"')]: always(0),
      [of("flotilla_task_oldest_ready_seconds", 'workload="a"')]: growing(60),
    },
    quiet: {
      [of("flotilla_pull_workers", 'state="live"')]: always(0),
      // Of a workload that is switched off.
      [of("flotilla_tasks", 'workload="a",state="ready"')]: always(5),
      [of("flotilla_task_oldest_ready_seconds", 'workload="a"')]: always(0),
    },
  },
  FlotillaExecutorBroken: {
    ...one("flotilla_executors_broken", 'workload="a"', always(1), always(0)),
    labels: { workload: "a" },
  },
  FlotillaLeasesExpire: one("flotilla_task_leases_expired_total", "", growing(2), always(50)),
  FlotillaServerErrors: {
    ...one("flotilla_http_requests_total", 'method="GET",code="500"', growing(1), always(50)),
    labels: only_instance,
  },
  FlotillaEventLoopLate: {
    ...one("flotilla_event_loop_delay_seconds", 'quantile="0.99"', always(1), always(0.1)),
    labels: only_instance,
  },
  FlotillaMetricsMissing: {
    ...one("flotilla_metrics_reading_failed", 'part="queue"', always(1), always(0)),
    labels: { ...at_hub, part: "queue" },
  },
  FlotillaVersionsDiffer: {
    fires: {
      [of("flotilla_build_info", 'version="1",mode="hub"')]: always(1),
      [of("flotilla_build_info", 'version="2",mode="worker"', WORKER)]: always(1),
    },
    quiet: {
      [of("flotilla_build_info", 'version="1",mode="hub"')]: always(1),
      [of("flotilla_build_info", 'version="1",mode="worker"', WORKER)]: always(1),
    },
  },
  FlotillaWorkerUnlinked: {
    fires: { [of("flotilla_worker_link_up", "", WORKER)]: always(0) },
    quiet: { [of("flotilla_worker_link_up", "", WORKER)]: always(1) },
    labels: at_worker,
  },
  FlotillaUploadsStuck: {
    fires: stuck("flotilla_worker_uploads_waiting", "flotilla_worker_upload_bytes_total", 0),
    quiet: stuck("flotilla_worker_uploads_waiting", "flotilla_worker_upload_bytes_total", 10),
    labels: at_worker,
  },
  FlotillaReportsStuck: {
    fires: stuck("flotilla_worker_reports_waiting", "flotilla_worker_tasks_total", 0),
    quiet: stuck("flotilla_worker_reports_waiting", "flotilla_worker_tasks_total", 10),
    labels: at_worker,
  },
};
