import type { JobRow } from "#hub/platform/db/rows.ts";
import type { WaitingFor } from "#shared/protocol/schema/job.ts";
import type { Worker } from "#shared/protocol/schema/worker.ts";
import type { FleetContext } from "../context.ts";
import { hubShortage } from "../links/hub-shortage.ts";
import { ableWorkers, freeLanesOf, laneShortage, usableLanesOf } from "../links/shortage.ts";
import { listWorkers } from "../links/view.ts";
import { thoseFor } from "../links/way-out.ts";
import { isAttached } from "./attach.ts";
import type { JobReadContext } from "./job-contexts.ts";
import { hasLocalWorker, workersFor } from "./local-only.ts";
import { hasFreeRunner, hasProofRoom, isScripted } from "./scripted.ts";

/**
 * What a queued job waits for: reported in its record, in the 503, and in the error of the queue timeout
 * (rules/jobs#what-a-queued-job-waits-for).
 */

/** What the answer depends on besides the job, read once for many jobs. */
export interface QueueFacts {
  /** This hub was asked to stop or its disk is short, and no worker is linked to another one. */
  readonly hub: WaitingFor | null;
  readonly workers: readonly Worker[];
  /** Whether a runner is free at a hub of the fleet, and how many one hub has. */
  readonly runner_free: boolean;
  readonly runners: number;
  /** Whether a job that proves its scripts could have a lane of this hub, or there are other hubs. */
  readonly proof_room: boolean;
  /** Whether a worker on the host of its hub is connected. */
  readonly local_worker: boolean;
  readonly reserve_ms: number;
  readonly queue: FleetContext["config"]["queue"];
  /** Scripted jobs created at or before this have left the last lane to others for long enough (epoch ms). */
  readonly reserved_from: number;
}

const reading = new WeakMap<object, Promise<QueueFacts | null>>();

/** Null while the workers are not known. Simultaneous callers share one read: there may be a thousand of them. */
export function queueFacts(ctx: JobReadContext): Promise<QueueFacts | null> {
  const under_way = reading.get(ctx);
  if (under_way !== undefined) return under_way;
  const read = readFacts(ctx)
    .catch((err) => {
      ctx.log.warn({ err }, "cannot find out what queued jobs wait for");
      return null;
    })
    .finally(() => reading.delete(ctx));
  reading.set(ctx, read);
  return read;
}

async function readFacts(ctx: JobReadContext): Promise<QueueFacts> {
  const { scripted, cluster, wall_jumps, config, db } = ctx;
  const workers = await listWorkers(ctx);
  const here = await hasFreeRunner(ctx);
  // Another hub may have a free one; only the total of all hubs is known.
  const all = scripted.most * (1 + cluster.peers.size);
  const runner_free = here || (cluster.peers.size > 0 && (await db.jobs.runningScripts()) < all);
  return {
    workers,
    runner_free,
    runners: scripted.most,
    hub: hubShortage(ctx, workers),
    proof_room: cluster.peers.size > 0 || hasProofRoom(ctx),
    local_worker: await hasLocalWorker(ctx),
    reserve_ms: scripted.reserve.ms,
    queue: config.queue,
    reserved_from: wall_jumps.olderThan(scripted.reserve.ms),
  };
}

/** What this queued job waits for; the detail goes on from "it waits: ". */
export function waitingFor(row: JobRow, facts: QueueFacts): WaitingFor {
  const { workers, runners, queue } = facts;
  if (facts.hub) return facts.hub;
  if (isScripted(row) && !facts.runner_free)
    return {
      reason: "runners_busy",
      detail: `every runner is busy with another script: a hub runs ${runners} at a time (setting max_concurrent_runs)`,
    };
  if (isAttached(row))
    return {
      reason: "browser_in_use",
      detail: `it can run only in the browser of job ${row.options.attach_to_job}`,
    };
  if (workersFor(row) !== null && !facts.local_worker)
    return {
      reason: "no_local_worker",
      detail: "clone_chrome_profile needs a worker on the hub's own host, and none is connected",
    };
  const shortage = laneShortage(workers);
  if (shortage) return shortage;
  const able = thoseFor(workers, row.options);
  if (able.length < workers.length && laneShortage(able))
    return {
      reason: able.length === 0 ? "no_worker" : "lanes_busy",
      detail: `no free lane is of a worker that allows its ${row.options.egress ? "egress" : "proxy"}`,
    };
  if (workersFor(row) !== null)
    return { reason: "lanes_busy", detail: "the lanes on the hub's own host are busy" };
  if (row.options.prove_in_replay && !facts.proof_room)
    return { reason: "lanes_busy", detail: NO_PROOF_ROOM };
  const left_ms = row.created_at - facts.reserved_from;
  if (isScripted(row) && left_ms > 0 && onlyReserved(workers))
    return { reason: "lane_reserve", detail: heldBack(facts.reserve_ms, left_ms) };
  if (queue.pull_on_free)
    return { reason: "starting", detail: "a lane is free: it is about to start" };
  return { reason: "redrive", detail: byRedrive(queue) };
}

const NO_PROOF_ROOM =
  "a job with prove_in_replay does not take the last lane that no other such job has: replays need it";

const heldBack = (reserve_ms: number, left_ms: number): string =>
  `one lane is free, and is left to fetch jobs for another ${Math.ceil(left_ms / 1_000)} s of ${reserve_ms / 1_000} (setting lane_reserve_s)`;

const byRedrive = ({ redrive, redrive_min_age_ms }: QueueFacts["queue"]): string =>
  redrive
    ? `a lane is free, and is taken at the age of ${redrive_min_age_ms / 1_000} s (SVC_QUEUE_PULL_ON_FREE=0)`
    : "a lane is free, and nothing takes it: SVC_QUEUE_PULL_ON_FREE is 0 and SVC_QUEUE_REDRIVE_DISABLE is 1";

/** Whether every free lane is the last one of its hub, which has others. */
function onlyReserved(workers: readonly Worker[]): boolean {
  const hubs = new Map<string | null, { free: number; usable: number }>();
  for (const worker of ableWorkers(workers)) {
    const sum = hubs.get(worker.link_hub) ?? { free: 0, usable: 0 };
    sum.free += freeLanesOf(worker);
    sum.usable += usableLanesOf(worker);
    hubs.set(worker.link_hub, sum);
  }
  return [...hubs.values()].every(({ free, usable }) => free < Math.min(2, usable));
}

/** Lines of a job's log to read for the last refusal; a job refused this often has been refused for minutes. */
const STORY_LINES = 2_000;

/** The hub's line about the last worker that was offered the job and did not take it; null when there was none. */
async function lastRefusal(ctx: Pick<FleetContext, "db">, job_id: string): Promise<string | null> {
  const lines = await ctx.db.events.list(job_id, 0, STORY_LINES);
  const refusal = lines.findLast(({ data }) => data.stage === "assigned" && data.level === "warn");
  return refusal ? String(refusal.data.message) : null;
}

/** The error of a job that was queued for too long (rules/scheduling#queue-timeout), and what it waited for. */
export async function queueTimeout(
  ctx: Pick<FleetContext, "config" | "db">,
  row: JobRow,
  facts: QueueFacts | null,
): Promise<string> {
  const said = `queue timeout: no worker took the job within ${ctx.config.queue.timeout_ms / 1_000} s`;
  const refusal = await lastRefusal(ctx, row.job_id);
  if (refusal !== null) return `${said}: ${refusal}`;
  return facts ? `${said}: ${waitingFor(row, facts).detail}` : said;
}
