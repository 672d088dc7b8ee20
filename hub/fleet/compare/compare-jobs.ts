import type { JobRow } from "#hub/platform/db/rows.ts";
import { chunksOf } from "#shared/archive/streams.ts";
import { isoTimeOrNull } from "#shared/kit/clock.ts";
import { AppError, conflict } from "#shared/kit/errors.ts";
import { createLimitedTurns } from "#shared/kit/turns.ts";
import { COMPARISON_LIMITS } from "#shared/protocol/limits.ts";
import type { JobComparison, TextCompared } from "#shared/protocol/schema/comparison.ts";
import type { FleetContext } from "../context.ts";
import { readDocument } from "../jobs/documents.ts";
import type { DocumentContext } from "../jobs/job-contexts.ts";
import type { Comparisons, Ignored } from "../jobs/parts.ts";
import { getRow } from "../jobs/read-jobs.ts";
import { documentHref } from "../jobs/record.ts";
import type { PageText } from "../page-text/text-lines.ts";
import { visibleText } from "../page-text/visible-text.ts";
import { comparePictures } from "./compare-pictures.ts";
import { compareText } from "./compare-text.ts";
import { compareAssets } from "./match-assets.ts";
import { PictureError } from "./png-file.ts";

/** What reads the documents of two jobs and compares them within a deadline. */
type ComparedContext = DocumentContext & Pick<FleetContext, "clock">;

const PICTURE = "screenshot.png";

/** @throws AppError not_found; conflict for a job that has not completed. */
async function completedRow(ctx: Pick<FleetContext, "db">, job_id: string): Promise<JobRow> {
  const row = await getRow(ctx, job_id);
  if (row.status !== "completed")
    throw conflict(`job ${job_id} is ${row.status}: only completed jobs can be compared`);
  return row;
}

/** As much of a page as is compared; null when the job has none. @throws AppError timed_out. */
async function readPage(ctx: ComparedContext, row: JobRow): Promise<PageText | null> {
  const body = await readDocument(ctx, row, "page.html");
  if (!body) return null;
  // The store ends its own silence; this ends one that sends a byte now and then.
  const until = ctx.clock.monotonic() + COMPARISON_LIMITS.read_ms;
  const decoder = new TextDecoder();
  let html = "";
  let left: number = COMPARISON_LIMITS.html_bytes;
  for await (const chunk of chunksOf(body)) {
    html += decoder.decode(chunk.subarray(0, Math.max(0, left)), { stream: true });
    left -= chunk.length;
    if (left < 0) break;
    if (ctx.clock.monotonic() > until)
      throw new AppError("timed_out", `the page of job ${row.job_id} could not be read in time`);
  }
  const text = await visibleText(html);
  return { lines: text.lines, cut: left < 0 || text.cut };
}

async function* timely(
  ctx: Pick<FleetContext, "clock">,
  name: string,
  body: ReadableStream<Uint8Array>,
) {
  const until = ctx.clock.monotonic() + COMPARISON_LIMITS.read_ms;
  for await (const chunk of chunksOf(body)) {
    if (ctx.clock.monotonic() > until)
      throw new AppError("timed_out", `${name} could not be read in time`);
    yield chunk;
  }
}

type Pictures = Pick<JobComparison["page"], "picture" | "picture_missing">;

const withoutPicture = (picture_missing: string): Pictures => ({ picture: null, picture_missing });

/** The pictures of two pages, or why they are not compared. @throws AppError timed_out */
async function picturesCompared(
  ctx: ComparedContext,
  before: JobRow,
  after: JobRow,
): Promise<Pictures> {
  const nameOf = ({ job_id }: JobRow) => `the picture of job ${job_id}`;
  const first = await readDocument(ctx, before, PICTURE);
  if (!first) return withoutPicture(`job ${before.job_id} has no picture`);
  const second = await readDocument(ctx, after, PICTURE).catch(async (err) => {
    await first.cancel();
    throw err;
  });
  if (!second) {
    await first.cancel();
    return withoutPicture(`job ${after.job_id} has no picture`);
  }
  const part = (row: JobRow, body: ReadableStream<Uint8Array>) => {
    const name = nameOf(row);
    return { name, chunks: timely(ctx, name, body), close: () => body.cancel() };
  };
  const parts = [part(before, first), part(after, second)] as const;
  try {
    const found = await comparePictures(...parts);
    const picture = {
      ...found,
      before: { href: documentHref(before.job_id, PICTURE), ...found.before },
      after: { href: documentHref(after.job_id, PICTURE), ...found.after },
    };
    return { picture, picture_missing: null };
  } catch (err) {
    if (err instanceof PictureError) return withoutPicture(err.message);
    throw err;
  } finally {
    // One that was never begun still holds its file.
    for (const { close } of parts) await close().catch(() => {});
  }
}

async function readText(
  ctx: ComparedContext,
  row: JobRow,
  ignored: Ignored | null,
): Promise<PageText | null> {
  const text = await readPage(ctx, row);
  return text && ignored ? { ...text, lines: await ignored.lines(text.lines) } : text;
}

async function textCompared(
  ctx: ComparedContext,
  before: JobRow,
  after: JobRow,
  ignored: Ignored | null,
): Promise<TextCompared | null> {
  const first = await readText(ctx, before, ignored);
  const second = first && (await readText(ctx, after, ignored));
  return second && compareText(first, second);
}

const pair = <T>(before: T, after: T) => ({ changed: before !== after, before, after });

const named = ({ job_id, url, finished_at }: JobRow) => ({
  job_id,
  url,
  finished_at: isoTimeOrNull(finished_at),
});

async function compareRows(
  ctx: ComparedContext,
  before: JobRow,
  after: JobRow,
  ignored: Ignored | null,
): Promise<JobComparison> {
  // One more than is compared shows that there are more.
  const most = COMPARISON_LIMITS.assets + 1;
  const lists = await Promise.all([
    ctx.db.assets.list(before.job_id, most),
    ctx.db.assets.list(after.job_id, most),
  ]);
  const [assets_before, assets_after] = ignored
    ? lists.map((rows) => rows.filter(({ source_url }) => !ignored.asset(source_url)))
    : lists;
  return {
    before: named(before),
    after: named(after),
    page: {
      title: pair(before.title, after.title),
      final_url: pair(before.final_url, after.final_url),
      http_status: pair(before.http_status, after.http_status),
      text: await textCompared(ctx, before, after, ignored),
      // What a watch counts as a change does not depend on pictures.
      ...(ignored
        ? withoutPicture("a watch does not compare pictures")
        : await picturesCompared(ctx, before, after)),
    },
    assets: compareAssets(assets_before ?? [], assets_after ?? []),
  };
}

/** One pair at a time, because two pages and their texts may take 100 MB. */
export function createComparisons(of: () => ComparedContext): Comparisons {
  const turns = createLimitedTurns(
    COMPARISON_LIMITS.waiting,
    () => new AppError("unavailable", "too many comparisons are waiting for their turn"),
  );
  const inTurn = (before: JobRow, after: JobRow, ignored: Ignored | null) =>
    turns(() => compareRows(of(), before, after, ignored));
  return {
    byId: async (before_id, after_id) => {
      const before = await completedRow(of(), before_id);
      const after = await completedRow(of(), after_id);
      return inTurn(before, after, null);
    },
    rows: inTurn,
  };
}
