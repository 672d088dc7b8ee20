import type { CallBody } from "./body.ts";
import type {
  CheckDraftInput,
  ExecutorCheck,
  ImportResult,
  Workload,
  WorkloadVersion,
  WorkloadVersionCode,
} from "./client-types.ts";
import { type CallOptions, everyItem, type Http } from "./http.ts";

/** What the file is and how its rows become tasks. */
export interface ImportTasksOptions extends CallOptions {
  format: "csv" | "jsonl";
  key?: string;
  columns?: string;
  typed?: boolean;
  dry_run?: boolean;
  skip_faults?: boolean;
}

/** A file of the largest size over a slow network. */
const IMPORT_MS = 600_000;
/** A worker hears of a check within 5 s, and code has a minute to load. */
const CHECK_MS = 130_000;

/** Code of workloads, and files of tasks (rules/pipeline-code#versions, rules/pipeline-import#import-a-file). */
export function workloadCodeCalls(http: Http) {
  const of = (slug: string) => ({ params: { slug } });
  return {
    /** Every row of a CSV file, or line of JSON, as a task; `dry_run` submits nothing and tells what would be. */
    importTasks: (
      slug: string,
      file: CallBody,
      { signal, timeout_ms = IMPORT_MS, ...query }: ImportTasksOptions,
    ): Promise<ImportResult> =>
      http.call("POST /api/v1/workloads/{slug}/tasks/import", {
        ...of(slug),
        ...(signal ? { signal } : {}),
        timeout_ms,
        query,
        body: file,
      }),
    /** Has a worker try settings that are not saved, with one task if there is one. */
    check: (draft: CheckDraftInput, call?: CallOptions): Promise<ExecutorCheck> =>
      http.call("POST /api/v1/workloads/check", { timeout_ms: CHECK_MS, ...call, json: draft }),
    /** Versions of its code, the newest first; the code itself comes with `version`. */
    versions: (slug: string, call?: CallOptions): Promise<WorkloadVersion[]> =>
      everyItem(http, "GET /api/v1/workloads/{slug}/versions", "versions", {
        ...call,
        ...of(slug),
      }),
    version: (slug: string, version: number, call?: CallOptions): Promise<WorkloadVersionCode> =>
      http.call("GET /api/v1/workloads/{slug}/versions/{version}", {
        ...call,
        params: { slug, version },
      }),
    /** Rolls back: the code of that version becomes the newest one. */
    restore: (
      slug: string,
      version: number,
      { note = "", ...call }: CallOptions & { note?: string } = {},
    ): Promise<Workload> =>
      http.call("POST /api/v1/workloads/{slug}/versions/{version}/restore", {
        ...call,
        params: { slug, version },
        json: { version_note: note },
      }),
  };
}
