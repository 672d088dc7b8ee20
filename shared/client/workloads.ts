import { workloadTag } from "#shared/protocol/workload-tag.ts";
import { again } from "./again.ts";
import type {
  QueueCounts,
  QueuePeek,
  QueueState,
  Run,
  SubmitResult,
  TaskInput,
  TaskStatus,
  Workload,
  WorkloadCreateInput,
  WorkloadUpdateInput,
} from "./client-types.ts";
import type { FlotillaError } from "./errors.ts";
import { type CallOptions, everyItem, type Http, newKey } from "./http.ts";
import { workloadCodeCalls } from "./workload-code.ts";

/** Newest first. `before`: only runs older than this one; `limit`: at most 500 (1,000 over all workloads). */
export interface RunFilter {
  limit?: number;
  before?: number;
  /** `next_cursor` of the previous page. */
  cursor?: string;
  success?: boolean;
  pk?: string;
  /** Of a group of failures. */
  fingerprint?: string;
  /** `key:value`, or `key` for any value; with several a run must have all of them. */
  label?: string | string[];
}

export interface QueuePage {
  state?: QueueState;
  limit?: number;
  offset?: number;
  /** `next_cursor` of the previous page. */
  cursor?: string;
  /** `key:value`, or `key` for any value; with several a task must have all of them. */
  label?: string | string[];
}

export interface SubmitTasksOptions extends CallOptions {
  /** How long to wait for a control plane that is busy or away; default 150,000. */
  patience_ms?: number;
  /** By default a new one for every call. */
  idempotency_key?: string;
}

/** A control plane that restarts, and one whose database is away, come back within this time. */
const SUBMIT_PATIENCE_MS = 150_000;
/** 10,000 tasks with a large `extra` take tens of megabytes. */
const BATCH_MS = 120_000;

/** The control plane is busy or away, or an earlier call with this key still runs (409). */
const mayPass = ({ status, headers }: FlotillaError): boolean =>
  status === 0 || status === 503 || (status === 409 && headers.has("retry-after"));

const readWorkload =
  (http: Http) =>
  (slug: string, call?: CallOptions): Promise<Workload> =>
    http.call("GET /api/v1/workloads/{slug}", { ...call, params: { slug } });

/**
 * Workloads, their queues and runs (rules/pipeline-workloads#fields-of-a-workload, rules/pipeline-queue#queue-counts,
 * rules/pipeline-runs#list-runs).
 */
export function workloadCalls(http: Http) {
  const of = (slug: string) => ({ params: { slug } });
  return {
    ...workloadCodeCalls(http),
    list: (call?: CallOptions): Promise<Workload[]> =>
      everyItem(http, "GET /api/v1/workloads", "workloads", call),
    create: (workload: WorkloadCreateInput, call?: CallOptions): Promise<Workload> =>
      http.call("POST /api/v1/workloads", { ...call, json: workload }),
    get: readWorkload(http),
    /** Replaces every mutable field. `over`: the workload as read before; 412 when it has changed since. */
    replace: (
      slug: string,
      settings: WorkloadUpdateInput,
      { over, ...call }: CallOptions & { over?: Pick<Workload, "updated_at"> } = {},
    ): Promise<Workload> => {
      const headers: Record<string, string> = over ? { "if-match": workloadTag(over) } : {};
      const given = { ...of(slug), headers, json: settings };
      return http.call("PUT /api/v1/workloads/{slug}", { ...call, ...given });
    },
    setEnabled: (slug: string, enabled: boolean, call?: CallOptions): Promise<Workload> =>
      http.call("PATCH /api/v1/workloads/{slug}/enabled", {
        ...call,
        ...of(slug),
        json: { enabled },
      }),
    /** With its queue; its runs stay. 409 while tasks are claimed, unless it is forced. */
    delete: (
      slug: string,
      { force = false, ...call }: CallOptions & { force?: boolean } = {},
    ): Promise<null> =>
      http.call("DELETE /api/v1/workloads/{slug}", { ...call, ...of(slug), query: { force } }),
    /**
     * Up to 10,000 tasks, all or none. A key that is pending, claimed or failed is a duplicate and is not changed. A
     * control plane that is busy or away is asked again, under one Idempotency-Key: no task is submitted twice.
     */
    submit: (
      slug: string,
      items: readonly TaskInput[],
      options: SubmitTasksOptions = {},
    ): Promise<SubmitResult> => {
      const headers = { "idempotency-key": options.idempotency_key ?? newKey() };
      const call = { timeout_ms: BATCH_MS, ...options, headers, json: { items: [...items] } };
      const { patience_ms = SUBMIT_PATIENCE_MS, signal } = options;
      return again({ patience_ms, signal }, mayPass, () =>
        http.call("POST /api/v1/workloads/{slug}/tasks/batch", { ...call, ...of(slug) }),
      );
    },
    /** The state of up to 10,000 tasks; those that are not in the queue are counted as `absent`. */
    status: (slug: string, pks: readonly string[], call?: CallOptions): Promise<TaskStatus> =>
      http.call("POST /api/v1/workloads/{slug}/tasks/status", {
        ...call,
        ...of(slug),
        json: { pks: [...pks] },
      }),
    queue: (slug: string, call?: CallOptions): Promise<QueueCounts> =>
      http.call("GET /api/v1/workloads/{slug}/queue", { ...call, ...of(slug) }),
    peek: (slug: string, query: QueuePage = {}, call?: CallOptions): Promise<QueuePeek> =>
      http.call("GET /api/v1/workloads/{slug}/queue/peek", { ...call, ...of(slug), query }),
    /** How many failed tasks became pending. */
    resetFailed: async (slug: string, call?: CallOptions): Promise<number> =>
      (
        await http.call("POST /api/v1/workloads/{slug}/queue/reset-failed", {
          ...call,
          ...of(slug),
        })
      ).reset,
    /** Removes a pending or failed task, cancels a claimed one. */
    removeTask: (slug: string, pk: string, call?: CallOptions): Promise<null> =>
      http.call("DELETE /api/v1/workloads/{slug}/queue/{pk}", { ...call, params: { slug, pk } }),
    runs: async (slug: string, filter: RunFilter = {}, call?: CallOptions): Promise<Run[]> => {
      const given = { ...of(slug), query: filter };
      return (await http.call("GET /api/v1/workloads/{slug}/runs", { ...call, ...given })).runs;
    },
    /** Of all workloads. */
    allRuns: async (filter: RunFilter = {}, call?: CallOptions): Promise<Run[]> =>
      (await http.call("GET /api/v1/runs", { ...call, query: filter })).runs,
    run: (run_id: number, call?: CallOptions): Promise<Run> =>
      http.call("GET /api/v1/runs/{run_id}", { ...call, params: { run_id } }),
  };
}

export type WorkloadCalls = ReturnType<typeof workloadCalls>;
