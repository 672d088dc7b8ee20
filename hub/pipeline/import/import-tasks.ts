import type { WorkloadRow } from "#hub/platform/db/rows.ts";
import { AppError } from "#shared/kit/errors.ts";
import { MAX_BATCH_ITEMS } from "#shared/protocol/limits.ts";
import type { TaskIn } from "#shared/protocol/schema/queue.ts";
import {
  IMPORT_LIMITS,
  type ImportFault,
  type ImportFormat,
  type ImportQuery,
  type ImportResult,
} from "#shared/protocol/schema/task-import.ts";
import type { PipelineContext } from "../context.ts";
import { newTask, submitTasks } from "../tasks/tasks.ts";
import { type Mapping, mappingFor } from "./mapping.ts";
import { type Row, rowsOf } from "./rows.ts";
import { textOf } from "./text.ts";

export interface ImportUpload {
  format: ImportFormat;
  body: AsyncIterable<Uint8Array>;
  /** Aborts when nobody waits for the answer any more. */
  signal: AbortSignal;
}

/**
 * Reads a file and submits its records, up to 10,000 at a time, each batch whole or not at all
 * (rules/pipeline-import#import-a-file). A dry run submits nothing.
 * @throws AppError not_found, too_large, and invalid naming the lines with faults, unless they are to be left out
 */
export async function importTasks(
  ctx: Pick<PipelineContext, "clock" | "db" | "kv" | "log" | "pipeline" | "tracer">,
  slug: string,
  query: ImportQuery,
  { format, body, signal }: ImportUpload,
): Promise<ImportResult> {
  const workload = await ctx.pipeline.workloads.require(slug);
  const found = await rowsOf(format, textOf(body));
  const result: ImportResult = {
    dry_run: query.dry_run,
    format,
    columns: [],
    key: null,
    rows: 0,
    submitted: 0,
    duplicates: 0,
    faults: [],
    fault_count: 0,
    tasks: [],
  };
  const into = query.dry_run ? looker(ctx, workload) : submitter(ctx, slug);
  let mapping: Mapping | null = null;
  let batch: TaskIn[] = [];
  const flush = async () => {
    signal.throwIfAborted();
    if (result.fault_count > 0 && !query.skip_faults && !query.dry_run) throw refusal(result);
    const { submitted, duplicates } = await into(batch);
    result.submitted += submitted;
    result.duplicates += duplicates;
    batch = [];
  };
  for await (const row of found.rows) {
    result.rows += 1;
    if (result.rows > IMPORT_LIMITS.rows)
      throw new AppError("too_large", `a file has at most ${IMPORT_LIMITS.rows} rows`);
    mapping ??= mappingFor(format, found.columns, query);
    const judged = judgeRow(row, mapping, workload);
    if ("error" in judged) note(result, { line: row.line, error: judged.error });
    else {
      batch.push(judged.task);
      if (result.tasks.length < query.preview) result.tasks.push(judged.task);
      if (batch.length === MAX_BATCH_ITEMS) await flush();
    }
  }
  mapping ??= mappingFor(format, found.columns, query);
  await flush();
  return { ...result, columns: found.columns, key: mapping.key };
}

function judgeRow(
  row: Row,
  mapping: Mapping,
  workload: WorkloadRow,
): { task: TaskIn } | { error: string } {
  if ("error" in row) return row;
  const judged = mapping.task(row.value);
  if ("error" in judged) return judged;
  try {
    newTask(workload, judged.task, []);
    return judged;
  } catch (err) {
    if (!(err instanceof AppError)) throw err;
    return { error: `extra ${err.message}` };
  }
}

function note(result: ImportResult, fault: ImportFault): void {
  result.fault_count += 1;
  if (result.faults.length < IMPORT_LIMITS.faults) result.faults.push(fault);
}

/** Says which lines to correct, and what is in the queue already. */
function refusal({ faults, fault_count, submitted, duplicates }: ImportResult): AppError {
  const more = fault_count - faults.length;
  const kept =
    submitted + duplicates === 0
      ? "nothing was submitted"
      : `${submitted} tasks of earlier lines were submitted; send the file again once it is right: they are left alone`;
  return new AppError(
    "invalid",
    [
      { loc: ["body"], msg: kept, type: "invalid" },
      ...faults.map(({ line, error }) => ({
        loc: ["body", "line", line],
        msg: error,
        type: "invalid",
      })),
      ...(more > 0 ? [{ loc: ["body"], msg: `and ${more} more lines`, type: "invalid" }] : []),
    ],
    { body: { submitted, duplicates, fault_count } },
  );
}

type Into = (batch: readonly TaskIn[]) => Promise<{ submitted: number; duplicates: number }>;

const submitter =
  (
    ctx: Pick<PipelineContext, "pipeline" | "tracer" | "kv" | "log" | "clock">,
    slug: string,
  ): Into =>
  async (batch) => {
    if (batch.length === 0) return { submitted: 0, duplicates: 0 };
    return submitTasks(ctx, slug, batch, () => ["body"]);
  };

/** Counts what a submission would find: keys in the queue, and keys that stood in the file before. */
function looker({ db }: Pick<PipelineContext, "db">, { workload_id }: WorkloadRow): Into {
  const seen = new Set<string>();
  return async (batch) => {
    const fresh = [...new Set(batch.map(({ pk }) => pk))].filter((pk) => !seen.has(pk));
    const queued = fresh.length === 0 ? [] : await db.runs.taskStates(workload_id, fresh);
    for (const pk of fresh) seen.add(pk);
    return { submitted: 0, duplicates: batch.length - fresh.length + queued.length };
  };
}
