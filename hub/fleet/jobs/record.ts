import type { AssetRow, EventRow, JobRow } from "#hub/platform/db/rows.ts";
import { isoTime, isoTimeOrNull } from "#shared/kit/clock.ts";
import { humanSize } from "#shared/kit/words.ts";
import type { JobDocument } from "#shared/protocol/documents.ts";
import type { Asset } from "#shared/protocol/schema/asset.ts";
import type { Job, JobEvent, WaitingFor } from "#shared/protocol/schema/job.ts";

/** A row as the wire shows it. */
export function jobRecord(
  row: JobRow,
  queue_position: number | null = null,
  waiting_for: WaitingFor | null = null,
): Job {
  const {
    host: _host,
    lease_token: _token,
    hub_id: _hub,
    document_bytes: _documents,
    final_state: end,
    ...rest
  } = row;
  const { job_id } = row;
  return {
    ...rest,
    options: row.options,
    created_at: isoTime(row.created_at),
    started_at: isoTimeOrNull(row.started_at),
    finished_at: isoTimeOrNull(row.finished_at),
    duration_ms:
      row.started_at === null || row.finished_at === null
        ? null
        : Math.max(0, row.finished_at - row.started_at),
    queue_position,
    waiting_for,
    screenshot_href: end?.screenshot ? documentHref(job_id, "screenshot.png") : null,
    thumbnail_href: end?.thumbnail ? documentHref(job_id, "thumbnail.webp") : null,
    favicon_href: end?.favicon ? assetHref(job_id, end.favicon) : null,
    answer: row.answer?.value ?? null,
    labels: row.labels ?? {},
    source: row.capture?.imported ? "import" : "browser",
  };
}

export const documentHref = (job_id: string, name: JobDocument): string =>
  `/jobs/${job_id}/${name}`;

export const assetHref = (job_id: string, name: string): string =>
  `/jobs/${job_id}/assets/${encodeURIComponent(name)}`;

export function assetRecord(row: AssetRow): Asset {
  const { job_id, position: _position, ...rest } = row;
  return { ...rest, href: assetHref(job_id, row.name), size_h: humanSize(row.size) };
}

export const eventRecord = (row: EventRow): JobEvent => ({
  seq: row.seq,
  ts: isoTime(row.ts),
  type: row.type,
  data: row.data,
});
