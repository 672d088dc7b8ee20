import type { RunsRepo } from "#hub/platform/db/pipeline-types.ts";
import type { RunRow } from "#hub/platform/db/rows.ts";
import { UNKNOWN } from "#hub/platform/failures/fingerprint.ts";
import type { PipelineContext } from "../context.ts";

/**
 * Runs that one statement scans for what no index serves: meanwhile SQLite answers nothing else. A search of
 * SEARCH_MS scanned 100,000 to 240,000 of a million runs on two busy cores.
 */
const WINDOW = 20_000;
/** An answer scans as many windows as fit into this time; the client goes on from there. */
const SEARCH_MS = 400;
/** Ids follow the time of the end, except for transactions of different processes that ended together. */
const SLACK_MS = 60_000;

export type RunFilter = Omit<Parameters<RunsRepo["list"]>[0], "from">;
export interface RunPage {
  rows: RunRow[];
  next_before: number | null;
}

const lastId = (rows: readonly RunRow[]): number | null => rows.at(-1)?.run_id ?? null;

/** Whether an index gives the runs in order, however few of all runs they are. */
function isIndexed(filter: RunFilter): boolean {
  const { workload_id, before: _, limit: _l, brief: _b, success, fingerprint, ...rest } = filter;
  if (Object.values(rest).some((value) => value !== undefined)) return false;
  if (fingerprint !== undefined)
    return fingerprint !== UNKNOWN && workload_id === undefined && success === undefined;
  return success === undefined || (success === false && workload_id !== undefined);
}

/** The oldest run that may have ended at `time` or after it, by bisecting ids; `end` when there is none. */
async function firstAt(
  { runs }: PipelineContext["db"],
  time: number,
  end: number,
): Promise<number> {
  let low = 1;
  let high = end;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const run = await runs.at(middle);
    if (run === null || run.finished_at >= time) high = middle;
    else low = run.run_id + 1;
  }
  return low;
}

/** One page of the runs that match, newest first. */
export async function searchRuns(
  ctx: Pick<PipelineContext, "db" | "clock">,
  filter: RunFilter,
): Promise<RunPage> {
  const { db, clock } = ctx;
  if (isIndexed(filter)) {
    const rows = await db.runs.list(filter);
    return { rows, next_before: rows.length < filter.limit ? null : lastId(rows) };
  }
  const { since, until } = filter;
  const end = ((await db.runs.newest()) ?? 0) + 1;
  let before = Math.min(filter.before ?? end, end);
  if (until !== undefined) before = Math.min(before, await firstAt(db, until + SLACK_MS, end));
  const floor = since === undefined ? 1 : await firstAt(db, since - SLACK_MS, end);
  const late = clock.monotonic() + SEARCH_MS;
  const rows: RunRow[] = [];
  while (before > floor && rows.length < filter.limit && clock.monotonic() < late) {
    const from = Math.max(floor, before - WINDOW);
    const limit = filter.limit - rows.length;
    const found = await db.runs.list({ ...filter, before, from, limit });
    rows.push(...found);
    before = found.length < limit ? from : (lastId(found) ?? from);
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  return { rows, next_before: before > floor ? before : null };
}
