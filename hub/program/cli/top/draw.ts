import type { Worker } from "#shared/client/client-types.ts";
import { moment } from "../client-call.ts";
import { paint } from "../colours.ts";
import { type Column, printable, type Terminal, tableFor } from "../print.ts";
import type { FleetNow, Now, PipelineNow } from "./read.ts";

/** Text of `flotilla top`: one list of blocks, the most important first, because a small window shows the beginning. */

type Screen = Pick<Terminal, "width" | "colours">;

const LANE_SIGNS: Record<Worker["lanes"][number]["state"], string> = {
  warm: ".",
  running: "#",
  booting: "~",
  resetting: "~",
  recycling: "~",
  quarantined: "!",
  dead: "!",
};

const percent = (value: number | null): string => (value === null ? "" : `${Math.round(value)} %`);

/** `45 s`, `12 min`, `3.5 h`. */
export function ageText(seconds: number | null): string {
  if (seconds === null) return "";
  if (seconds < 120) return `${Math.max(0, Math.round(seconds))} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  return `${Math.round(seconds / 360) / 10} h`;
}

const sinceSeconds = (at: string, since: string | null): number | null =>
  since === null ? null : (Date.parse(at) - Date.parse(since)) / 1_000;

/** Jobs a minute that were submitted in the last five whole minutes, as far as buckets tell. */
function jobsPerMinute({ figures }: FleetNow): number {
  const until = Date.parse(figures.at);
  const since = until - 5 * 60_000;
  const some = figures.captures.buckets.filter(({ from }) => Date.parse(from) >= since);
  const count = some.reduce(
    (sum, { completed, http_error, failed, cancelled, open }) =>
      sum + completed + http_error + failed + cancelled + open,
    0,
  );
  const minutes = some.length === 0 ? 1 : (until - Date.parse(some[0]?.from ?? "")) / 60_000;
  return Math.round((count / Math.max(minutes, 1)) * 10) / 10;
}

function fleetSummary({ figures }: FleetNow): string[] {
  const { lanes, queue, captures } = figures;
  const { completed, http_error, failed } = captures.total;
  const waits =
    queue.queued === 0
      ? "nothing queued"
      : `${queue.queued} queued, the oldest for ${ageText(sinceSeconds(figures.at, queue.oldest_at))}${queue.waiting_for ? `: ${queue.waiting_for.detail}` : ""}`;
  return [
    printable(`lanes     ${lanes.busy} of ${lanes.total} busy, ${lanes.free} free; ${waits}`),
    `captures  in the last hour ${completed} completed, ${http_error} with an HTTP error, ${failed} failed`,
  ];
}

const WORKERS: readonly Column[] = [
  { title: "worker", shrink: 8 },
  { title: "status", state: true },
  { title: "lanes", shrink: 8 },
  { title: "busy", right: true },
  { title: "cpu", right: true },
  { title: "memory", right: true },
  { title: "disk", right: true },
  { title: "version", shrink: 8 },
];

const workerCells = (worker: Worker): string[] => [
  worker.worker_id,
  worker.alive ? worker.status : "offline",
  worker.lanes.map(({ state }) => LANE_SIGNS[state]).join(""),
  String(worker.in_flight),
  percent(worker.cpu_percent),
  percent(worker.mem_percent),
  percent(worker.disk_pct),
  worker.version,
];

const BUSY: readonly Column[] = [
  { title: "lane" },
  { title: "what" },
  { title: "id" },
  { title: "for", right: true },
  { title: "url", shrink: 16 },
];

function busyRows(at: string, { jobs, sessions }: FleetNow): string[][] {
  const ofJobs = jobs.map((job) => [
    `${job.worker_id ?? "?"}/${job.lane_idx ?? "?"}`,
    job.stage === null ? "job" : `job, ${job.stage}`,
    job.job_id,
    ageText(sinceSeconds(at, job.started_at)),
    job.url,
  ]);
  const running = new Set(jobs.map(({ job_id }) => job_id));
  const ofSessions = sessions
    .filter(({ job_id }) => job_id === null || !running.has(job_id))
    .map((one) => [
      `${one.worker_id}/${one.lane_idx}`,
      "session",
      one.session_id,
      ageText(sinceSeconds(at, one.created_at)),
      one.url,
    ]);
  return [...ofJobs, ...ofSessions];
}

const QUEUES: readonly Column[] = [
  { title: "workload", shrink: 10 },
  { title: "pending", right: true },
  { title: "claimed", right: true },
  { title: "failed", right: true },
  { title: "oldest", right: true },
  { title: "done/min", right: true },
];

const queueCells = (queue: PipelineNow["queues"][number]): string[] => [
  queue.workload,
  String(queue.pending),
  String(queue.claimed),
  String(queue.failed),
  ageText(queue.oldest_pending_s),
  String(Math.round(queue.done_per_min * 10) / 10),
];

/** What waits or runs comes first. */
const byLoad = (a: PipelineNow["queues"][number], b: PipelineNow["queues"][number]): number =>
  b.pending + b.claimed - (a.pending + a.claimed) || b.failed - a.failed;

const PULLERS: readonly Column[] = [
  { title: "pull worker", shrink: 8 },
  { title: "state", state: true },
  { title: "slots", right: true },
  { title: "cpu", right: true },
  { title: "host", shrink: 8 },
];

const pullCells = (worker: PipelineNow["workers"][number]): string[] => [
  worker.id,
  worker.state,
  `${worker.in_flight}/${worker.slots}`,
  percent(worker.cpu_percent),
  worker.host,
];

const block = (screen: Screen, columns: readonly Column[], rows: string[][]): string[] =>
  rows.length === 0 ? [] : ["", ...tableFor(screen, columns, rows).split("\n")];

const problemLines = (screen: Screen, problems: readonly string[]): string[] =>
  problems.map((text) => {
    const line = printable(`!  ${text}`);
    return screen.colours ? paint(line, "red") : line;
  });

function fleetLines(screen: Screen, at: string, fleet: FleetNow): string[] {
  const problems = [
    ...fleet.degraded,
    ...fleet.figures.problems.map(({ subject, detail }) =>
      subject === null ? detail : `${subject}: ${detail}`,
    ),
  ];
  return [
    ...fleetSummary(fleet),
    `rate      ${jobsPerMinute(fleet)} jobs a minute`,
    ...problemLines(screen, problems),
    ...block(screen, BUSY, busyRows(at, fleet)),
    ...block(screen, WORKERS, fleet.workers.map(workerCells)),
  ];
}

function pipelineLines(screen: Screen, { queues, workers, problems }: PipelineNow): string[] {
  const sum = (of: (queue: PipelineNow["queues"][number]) => number) =>
    queues.reduce((all, queue) => all + of(queue), 0);
  const rate = Math.round(sum(({ done_per_min }) => done_per_min) * 10) / 10;
  return [
    `tasks     ${sum((q) => q.pending)} pending, ${sum((q) => q.claimed)} claimed, ${sum((q) => q.failed)} failed; ${rate} done a minute`,
    ...problemLines(
      screen,
      problems.map(({ workload, message }) => `${workload}: ${message.split("\n", 1)[0]}`),
    ),
    ...block(screen, QUEUES, queues.toSorted(byLoad).map(queueCells)),
    ...block(screen, PULLERS, workers.map(pullCells)),
  ];
}

/** All of it as lines; the caller decides how many of them fit. */
export function drawNow(screen: Screen, hub: string, { at, fleet, pipeline }: Now): string[] {
  const head = `flotilla top  ${hub}  ${moment(at)} UTC${fleet === null ? "" : `  version ${fleet.version}`}`;
  return [
    screen.colours ? paint(printable(head), "bold") : printable(head),
    ...(fleet === null ? [] : fleetLines(screen, at, fleet)),
    ...(fleet === null || pipeline === null ? [] : [""]),
    ...(pipeline === null ? [] : pipelineLines(screen, pipeline)),
  ];
}
