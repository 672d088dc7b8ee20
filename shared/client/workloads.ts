import { systemClock } from "#shared/kit/clock.ts";
import { workloadTag } from "#shared/protocol/workload-tag.ts";
import { FlotillaError } from "./errors.ts";
import { backoffMs, type CallOptions, everyItem, type Http, newKey, queryOf } from "./http.ts";
import type {
  QueueCounts,
  QueuePeek,
  QueueState,
  ResetFailed,
  Run,
  SubmitResult,
  TaskInput,
  TaskStatus,
  Workload,
  WorkloadCreateInput,
  WorkloadUpdateInput,
} from "./types.ts";

/** Newest first. `before`: only runs older than this one; `limit`: at most 500 (1,000 over all workloads). */
export interface RunFilter {
  limit?: number;
  before?: number;
  /** `next_cursor` of the previous page. */
  cursor?: string;
  success?: boolean;
  pk?: string;
}

export interface SubmitTasksOptions extends CallOptions {
  /** How long to wait for a control plane that is busy or away; default 150,000. */
  patience_ms?: number;
  /** By default a new one for every call. */
  idempotency_key?: string;
}

/** A control plane that restarts, and one whose database is away, come back within this time. */
const SUBMIT_PATIENCE_MS = 150_000;
/** 10,000 tasks with a large `extra` are tens of megabytes. */
const BATCH_MS = 120_000;

/** Repeats `attempt` while nobody answers, the answer is 503, or an earlier call with its key still runs (409). */
async function untilAnswered<T>(
  { patience_ms = SUBMIT_PATIENCE_MS, signal }: SubmitTasksOptions,
  attempt: () => Promise<T>,
): Promise<T> {
  const until = systemClock.now() + patience_ms;
  for (let n = 0; ; n += 1) {
    try {
      return await attempt();
    } catch (err) {
      if (!(err instanceof FlotillaError) || signal?.aborted) throw err;
      const retry_after = err.headers.get("retry-after");
      const again = [0, 503].includes(err.status) || (err.status === 409 && retry_after !== null);
      const wait = backoffMs(n, retry_after);
      if (!again || systemClock.now() + wait > until) throw err;
      await systemClock.sleep(wait, signal);
    }
  }
}

/**
 * Workloads, their queues and runs (rules/pipeline-workloads#fields-of-a-workload, rules/pipeline-queue#queue-counts,
 * rules/pipeline-runs#list-runs).
 */
export function workloadCalls(http: Http) {
  const at = (slug: string, rest = "") => `/api/v1/workloads/${encodeURIComponent(slug)}${rest}`;
  const runsAt = async (path: string, filter: RunFilter, call?: CallOptions): Promise<Run[]> =>
    (await http.json<{ runs: Run[] }>("GET", `${path}?${queryOf(filter)}`, call)).runs;
  return {
    list: (call?: CallOptions) => everyItem<Workload>(http, "/api/v1/workloads", "workloads", call),
    create: (workload: WorkloadCreateInput, call?: CallOptions) =>
      http.json<Workload>("POST", "/api/v1/workloads", { ...call, json: workload }),
    get: (slug: string, call?: CallOptions) => http.json<Workload>("GET", at(slug), call),
    /** Replaces every mutable field. `over`: the workload as it was read; 412 when it has changed since. */
    replace: (
      slug: string,
      settings: WorkloadUpdateInput,
      { over, ...call }: CallOptions & { over?: Pick<Workload, "updated_at"> } = {},
    ) => {
      const headers: Record<string, string> = over ? { "if-match": workloadTag(over) } : {};
      return http.json<Workload>("PUT", at(slug), { ...call, headers, json: settings });
    },
    setEnabled: (slug: string, enabled: boolean, call?: CallOptions) =>
      http.json<Workload>("PATCH", at(slug, "/enabled"), { ...call, json: { enabled } }),
    /** With its queue; its runs stay. 409 while tasks are claimed, unless it is forced. */
    delete: (slug: string, { force = false, ...call }: CallOptions & { force?: boolean } = {}) =>
      http.json<null>("DELETE", at(slug, `?force=${force}`), call),
    /**
     * Up to 10,000 tasks, all or none. A key that is pending, claimed or failed is a duplicate and left alone. A control
     * plane that is busy or away is asked again, under one Idempotency-Key: no task is submitted twice.
     */
    submit: (
      slug: string,
      items: readonly TaskInput[],
      options: SubmitTasksOptions = {},
    ): Promise<SubmitResult> => {
      const headers = { "idempotency-key": options.idempotency_key ?? newKey() };
      const call = { timeout_ms: BATCH_MS, ...options, headers, json: { items } };
      return untilAnswered(options, () =>
        http.json<SubmitResult>("POST", at(slug, "/tasks/batch"), call),
      );
    },
    /** Where up to 10,000 tasks stand; those that are not in the queue are counted as `absent`. */
    status: (slug: string, pks: readonly string[], call?: CallOptions) =>
      http.json<TaskStatus>("POST", at(slug, "/tasks/status"), { ...call, json: { pks } }),
    queue: (slug: string, call?: CallOptions) =>
      http.json<QueueCounts>("GET", at(slug, "/queue"), call),
    peek: (
      slug: string,
      query: {
        state?: QueueState;
        limit?: number;
        offset?: number;
        /** `next_cursor` of the page before. */
        cursor?: string;
      } = {},
      call?: CallOptions,
    ) => http.json<QueuePeek>("GET", at(slug, `/queue/peek?${queryOf(query)}`), call),
    /** How many failed tasks became pending. */
    resetFailed: async (slug: string, call?: CallOptions) =>
      (await http.json<ResetFailed>("POST", at(slug, "/queue/reset-failed"), call)).reset,
    /** Removes a pending or failed task, cancels a claimed one. */
    removeTask: (slug: string, pk: string, call?: CallOptions) =>
      http.json<null>("DELETE", at(slug, `/queue/${encodeURIComponent(pk)}`), call),
    runs: (slug: string, filter: RunFilter = {}, call?: CallOptions) =>
      runsAt(at(slug, "/runs"), filter, call),
    /** Of all workloads. */
    allRuns: (filter: RunFilter = {}, call?: CallOptions) => runsAt("/api/v1/runs", filter, call),
    run: (run_id: number, call?: CallOptions) =>
      http.json<Run>("GET", `/api/v1/runs/${run_id}`, call),
  };
}

export type WorkloadCalls = ReturnType<typeof workloadCalls>;
