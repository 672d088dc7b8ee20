import type {
  FailureList,
  FailureQuery,
  FailureSelection,
  TaskChanges,
  TaskSelection,
} from "./client-types.ts";
import type { CallOptions, Http } from "./http.ts";

/** `move` takes `to`: the workload in whose queue the tasks wait from then on. */
export type TaskAction = "retry" | "cancel" | "delete" | "move";

export interface MoveTo {
  to?: string;
}

/** One call works for 20 s, and its last batch may take a while. */
const ACT_MS = 120_000;

/** Failures of the pipeline in groups, and what is done to many tasks (rules/failures#acting-by-filter). */
export function failureCalls(http: Http) {
  return {
    /** One page; `next_cursor` is the `cursor` of the next. */
    list: (query: FailureQuery = {}, call?: CallOptions): Promise<FailureList> =>
      http.call("GET /api/v1/failures", { ...call, query }),
    /**
     * Acts on the tasks of one group, in all workloads; with `dry_run` it says how many it would be. A long call ends with
     * `complete: false`: the same call goes on.
     */
    actOn: (
      action: TaskAction,
      filter: FailureSelection & MoveTo,
      call?: CallOptions,
    ): Promise<TaskChanges> =>
      http.call(`POST /api/v1/failures/${action}`, {
        timeout_ms: ACT_MS,
        ...call,
        json: filter as never,
      }),
    /** The same for the tasks of a workload that a filter finds. */
    actOnTasks: (
      slug: string,
      action: TaskAction,
      filter: TaskSelection & MoveTo = {},
      call?: CallOptions,
    ): Promise<TaskChanges> =>
      http.call(`POST /api/v1/workloads/{slug}/tasks/${action}`, {
        timeout_ms: ACT_MS,
        ...call,
        params: { slug },
        json: filter as never,
      }),
  };
}
