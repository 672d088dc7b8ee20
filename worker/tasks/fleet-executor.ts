import {
  type Asset,
  type Client,
  createClient,
  FlotillaError,
  type Job,
} from "#shared/client/index.ts";
import type { Clock } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import { authorityOption } from "#shared/protocol/trust.ts";
import { captureAll } from "./capture.ts";
import {
  BrokenExecutorError,
  CANCELLED,
  type Executor,
  failed,
  overTime,
  type RunOptions,
  type TaskEnd,
  type TaskInput,
  type TaskOutcome,
} from "./executor.ts";

export interface FleetExecutorDeps {
  clock: Clock;
  log: Log;
  /** HTTP address of the hub. */
  hub_url: string;
  token: string | null;
  /** JobOptions of every task; a task's own `extra.options` win. */
  options: Record<string, unknown>;
}

/** How many assets a run's output names; the others are only counted. */
const ASSETS_TOLD = 20;
/** How long a hub that is busy or restarting has to accept a cancellation. */
const CANCEL_MS = 10_000;

/** What a task may say about its job: its page, when that is not its key, and options of its own. */
interface FetchExtra {
  url?: unknown;
  options?: unknown;
}

/**
 * Each task is a job of the fleet (rules/pipeline-executors#fleet-jobs): submitted, followed to its end and summarized.
 * The hub's log of the job is the run's stdout. A hub that cannot be reached, or that refuses this worker, costs no
 * attempt.
 */
export function createFleetExecutor(deps: FleetExecutorDeps): Executor {
  const token = deps.token === null ? {} : { token: deps.token };
  const client = createClient({ base_url: deps.hub_url, ...token, ...authorityOption() });
  const running = new Set<Promise<unknown>>();
  return {
    run: async (tasks, options) => {
      for (const task of tasks) {
        const one = runJob(deps, client, task, options);
        running.add(one);
        options.onEnd(await one.finally(() => running.delete(one)));
      }
    },
    load: async () => {
      await client.jobs.list({ limit: 1 }).catch((err) => {
        throw new BrokenExecutorError(
          `the hub at ${deps.hub_url} cannot run jobs: ${errorMessage(err)}`,
        );
      });
    },
    close: async () => void (await Promise.allSettled(running)),
  };
}

async function runJob(
  deps: FleetExecutorDeps,
  client: Client,
  task: TaskInput,
  options: RunOptions,
): Promise<TaskEnd> {
  const since = performance.now();
  const story = captureAll();
  options.onBegin?.(task, (bytes) => ({ stdout: story.last(bytes), stderr: "" }));
  const outcome = await follow(deps, client, task, options, (line) =>
    story.push(Buffer.from(`${line}\n`)),
  ).catch((err) => outcomeOfError(deps, err));
  const { text, truncated } = story.take();
  const duration_ms = Math.round(performance.now() - since);
  return { task, outcome, duration_ms, stdout: text, stderr: "", truncated };
}

async function follow(
  { clock, log, options: shared }: FleetExecutorDeps,
  client: Client,
  task: TaskInput,
  { timeout_ms, signal }: RunOptions,
  print: (line: string) => void,
): Promise<TaskOutcome> {
  if (signal.aborted) return { kind: "not_run", reason: "stopping", broken: false };
  const over = new AbortController();
  let late = false;
  if (timeout_ms !== null)
    void clock.sleep(timeout_ms, over.signal).then(() => {
      late = !over.signal.aborted;
      over.abort();
    });
  const stop = AbortSignal.any([signal, over.signal]);
  const extra = (task.extra ?? {}) as FetchExtra;
  const own = typeof extra.options === "object" ? extra.options : {};
  try {
    // Not under `stop`: an aborted call may have created a job whose id nobody knows.
    const { job_id } = await client.jobs.submit(
      {
        url: typeof extra.url === "string" ? extra.url : task.pk,
        options: { ...shared, ...own },
      },
      { patience_ms: 0, ...(task.traceparent && { traceparent: task.traceparent }) },
    );
    print(`job ${job_id}`);
    const onEvent = ({ type, data }: { type: string; data: Record<string, unknown> }) => {
      if (type === "log") print(`${data.level} ${data.stage}: ${data.message}`);
    };
    const job = await client.jobs.wait(job_id, { signal: stop, onEvent }).catch(async (err) => {
      if (!stop.aborted) throw err;
      await client.jobs.cancel(job_id, { timeout_ms: CANCEL_MS }).catch((reason) => {
        log.warn({ job_id, err: errorMessage(reason) }, "could not cancel a job");
      });
      return null;
    });
    if (job !== null) return outcomeOfJob(client, job);
    return late && timeout_ms !== null
      ? overTime(`job ${job_id}`, timeout_ms)
      : failed("error", CANCELLED);
  } finally {
    over.abort();
  }
}

async function outcomeOfJob(client: Client, job: Job): Promise<TaskOutcome> {
  const { job_id, status, stage, error } = job;
  if (status === "completed") {
    const assets = job.asset_count === 0 ? [] : await client.jobs.assets(job_id);
    return { kind: "done", output: summaryOf(client.base_url, job, assets) };
  }
  // A person decided that it must not run; another attempt would overrule that.
  if (status === "cancelled")
    return failed("error", `job ${job_id} was cancelled`, { no_retry: true });
  const at = stage === null ? "" : ` at ${stage}`;
  return failed("error", `job ${job_id} failed${at}: ${error ?? "no reason given"}`);
}

/** The output of a run: what became of the job, and what it brought. */
function summaryOf(hub: string, job: Job, assets: readonly Asset[]) {
  const { job_id, status, url, final_url, http_status, title, worker_id, duration_ms } = job;
  const kinds: Record<string, { count: number; bytes: number }> = {};
  for (const { kind, size } of assets) {
    kinds[kind] ??= { count: 0, bytes: 0 };
    kinds[kind].count += 1;
    kinds[kind].bytes += size;
  }
  return {
    hub,
    job_id,
    status,
    url,
    final_url,
    http_status,
    title,
    worker_id,
    duration_ms,
    asset_count: job.asset_count,
    asset_bytes: job.asset_bytes,
    kinds,
    capture: job.capture,
    assets: assets
      .slice(0, ASSETS_TOLD)
      .map(({ name, kind, mime, size, sha256, source_url, href }) => ({
        name,
        kind,
        mime,
        size,
        sha256,
        source_url,
        href,
      })),
  };
}

/** Statuses that blame the job itself: the same job would be refused again. */
const REFUSED = new Set([400, 413, 422]);
/** Statuses that blame this worker or its settings: there is no fleet, or it requires a token. */
const NO_FLEET = new Set([401, 403, 404, 405]);

function outcomeOfError({ hub_url, log }: FleetExecutorDeps, err: unknown): TaskOutcome {
  const message = errorMessage(err);
  const status = err instanceof FlotillaError ? err.status : 0;
  if (REFUSED.has(status))
    return failed("error", `the hub refused the job: ${message}`, { no_retry: true });
  if (status === 0 || status >= 500 || NO_FLEET.has(status)) {
    log.error({ hub_url, err: message }, "executor is broken");
    const reason = `the hub at ${hub_url} cannot run jobs: ${message}`;
    return { kind: "not_run", reason, broken: true };
  }
  return failed("error", `the hub refused the job: ${message}`);
}
