import { isoTime } from "#shared/kit/clock.ts";
import { counted } from "#shared/kit/words.ts";
import { MAX_DISK_PCT } from "#shared/protocol/limits.ts";
import type { Figures, FleetProblem } from "#shared/protocol/schema/figures.ts";
import type { Degraded } from "#shared/protocol/schema/health.ts";
import type { WaitingFor } from "#shared/protocol/schema/job.ts";
import type { Worker } from "#shared/protocol/schema/worker.ts";
import { laneShortage } from "../links/shortage.ts";
import type { StuckReport } from "../retention/stuck.ts";

/** What keeps the fleet from capturing (rules/figures#problems). */

/** From here on somebody should look: there are ten points until the worker takes nothing. */
const DISK_WARNS_PCT = MAX_DISK_PCT - 5;
/** A worker that left longer ago was taken away on purpose. */
const GONE_MS = 7 * 86_400_000;
/** How long a job may wait before it is worth a line. */
const WAITS_MS = 300_000;
/** A disk of the hub is a problem when it will be full within this time. */
const FULL_MS = 3 * 86_400_000;
const MOST = 20;

export interface ProblemFacts {
  now: number;
  workers: readonly Worker[];
  queue: Figures["queue"];
  storage: Figures["storage"] | null;
  /** Why the hub's own disk takes nothing. */
  disk_shortage: string | null;
  stores: readonly Degraded[];
  /** What retention could not delete. */
  stuck: StuckReport | null;
  hosts: readonly FleetProblem[];
}

const problem = (
  kind: FleetProblem["kind"],
  severity: FleetProblem["severity"],
  fields: Partial<FleetProblem> & { detail: string },
): FleetProblem => ({ kind, severity, subject: null, since: null, url: null, ...fields });

const latest = (times: readonly (string | null)[]): string | null =>
  times.reduce((a, b) => (b !== null && (a === null || b > a) ? b : a), null);

/** Why no worker at all takes work, in one line: it stands for what each of them has. */
function ofTheFleet(workers: readonly Worker[]): FleetProblem | null {
  const shortage = laneShortage(workers);
  if (shortage?.reason === "no_worker")
    return problem("no_worker", "bad", {
      detail: shortage.detail,
      since: latest(workers.map(({ last_heartbeat_at }) => last_heartbeat_at)),
    });
  if (shortage?.reason === "workers_paused") {
    const paused = workers.find(({ alive, status }) => alive && status !== "active");
    return problem("workers_paused", "bad", {
      detail: shortage.detail,
      subject: paused?.worker_id ?? null,
    });
  }
  if (shortage?.reason === "no_lane")
    return problem("lanes_out", "bad", { detail: shortage.detail });
  return null;
}

function ofAWorker(worker: Worker, now: number): FleetProblem[] {
  const { worker_id, alive, status, disk_pct, lanes, last_heartbeat_at } = worker;
  const subject = worker_id;
  const found: FleetProblem[] = [];
  if (!alive) {
    const recent = last_heartbeat_at !== null && now - Date.parse(last_heartbeat_at) < GONE_MS;
    if (status === "active" && recent)
      found.push(
        problem("worker_gone", "warn", {
          subject,
          detail: "its link is lost, and its lanes with it",
          since: last_heartbeat_at,
        }),
      );
    return found;
  }
  if (disk_pct !== null && disk_pct >= DISK_WARNS_PCT)
    found.push(
      problem("worker_disk", disk_pct >= MAX_DISK_PCT ? "bad" : "warn", {
        subject,
        detail:
          disk_pct >= MAX_DISK_PCT
            ? `${Math.round(disk_pct)} % used, and it takes no work above ${MAX_DISK_PCT} %`
            : `${Math.round(disk_pct)} % used; it takes no work from ${MAX_DISK_PCT} % on`,
      }),
    );
  const out = lanes.filter(({ state }) => state === "dead" || state === "quarantined");
  if (out.length > 0)
    found.push(
      problem("lanes_out", "warn", {
        subject,
        detail: `${counted(out.length, "lane")} of ${lanes.length} out of service${out[0]?.reason ? `: ${out[0].reason}` : ""}`,
      }),
    );
  return found;
}

function ofTheHub({ now, storage, disk_shortage, stores, stuck }: ProblemFacts): FleetProblem[] {
  const found = stores
    .filter(({ part }) => part !== "disk")
    .map(({ part, detail }) =>
      problem("store", "bad", { subject: part.replaceAll("_", " "), detail }),
    );
  if (disk_shortage !== null) found.push(problem("hub_disk", "bad", { detail: disk_shortage }));
  else if (storage?.full_at && Date.parse(storage.full_at) - now < FULL_MS)
    found.push(
      problem("hub_disk", "warn", {
        detail:
          "at the pace of the last days its reserve is reached soon, and then no new work is taken",
      }),
    );
  if (stuck !== null)
    found.push(problem("retention", "warn", { detail: stuck.detail, since: isoTime(stuck.since) }));
  return found;
}

function ofTheQueue({ now, queue }: ProblemFacts): FleetProblem[] {
  const { queued, oldest_at, waiting_for } = queue;
  if (oldest_at === null || now - Date.parse(oldest_at) < WAITS_MS) return [];
  const why = waiting_for === null ? "" : `: ${waiting_for.detail}`;
  const detail = `${counted(queued, "capture")} ${queued === 1 ? "waits" : "wait"} for a lane${why}`;
  return [problem("queue_waits", "warn", { detail, since: oldest_at })];
}

/** The worst first, each with its cause. */
export function findProblems(facts: ProblemFacts): FleetProblem[] {
  const whole = ofTheFleet(facts.workers);
  const workers = facts.workers.flatMap((worker) => ofAWorker(worker, facts.now));
  const found = [
    ...ofTheHub(facts),
    ...(whole === null ? [] : [whole]),
    // Where none is left, every one of them is lost.
    ...(whole?.kind === "no_worker" ? [] : workers),
    // Why captures wait has been said.
    ...(whole === null ? ofTheQueue(facts) : []),
    ...facts.hosts,
  ];
  const rank = ({ severity }: FleetProblem) => (severity === "bad" ? 0 : 1);
  return found.sort((a, b) => rank(a) - rank(b)).slice(0, MOST);
}

/** What the oldest queued capture waits for, as far as all of them wait for it. */
export const waitingOf = (queued: number, workers: readonly Worker[]): WaitingFor | null =>
  queued === 0 ? null : laneShortage(workers);
