import type { WatchRow } from "#hub/platform/db/rows.ts";
import { isoTime, isoTimeOrNull } from "#shared/kit/clock.ts";
import type { Watch } from "#shared/protocol/schema/watch.ts";

/** A row as the API shows it. */
export function watchRecord(row: WatchRow): Watch {
  const { last_job_id, last_status, last_at, last_changed, changed_job_id, changed_at } = row;
  return {
    watch_id: row.watch_id,
    url: row.url,
    name: row.name,
    options: row.options,
    cron: row.cron,
    cron_tz: row.cron_tz,
    every_s: row.every_s,
    paused: row.paused,
    compare: row.compare,
    ignore_text: row.ignore_text,
    ignore_assets: row.ignore_assets,
    keep: row.keep,
    webhook_url: row.webhook_url,
    next_at: isoTimeOrNull(row.next_at),
    capturing: row.capturing,
    baseline: row.baseline,
    last:
      last_job_id !== null && last_status !== null && last_at !== null
        ? {
            job_id: last_job_id,
            status: last_status,
            at: isoTime(last_at),
            changed: last_changed,
          }
        : null,
    last_change:
      changed_job_id !== null && changed_at !== null
        ? { job_id: changed_job_id, at: isoTime(changed_at) }
        : null,
    failing_since: isoTimeOrNull(row.failing_since),
    failures: row.failures,
    last_error: row.last_error,
    captures: row.captures,
    changes: row.changes,
    created_at: isoTime(row.created_at),
    updated_at: isoTime(row.updated_at),
  };
}
