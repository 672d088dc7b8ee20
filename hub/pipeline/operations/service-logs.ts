import type { ServiceLogRow } from "#hub/platform/db/rows.ts";
import { readTimeCursor, timeCursor } from "#hub/platform/http/time-cursor.ts";
import { pageOfRows } from "#hub/platform/page-of-rows.ts";
import { isoTime } from "#shared/kit/clock.ts";
import { LOG_LEVELS, type LogLevel } from "#shared/kit/log.ts";
import { createLogMask } from "#shared/kit/log-mask.ts";
import {
  LOG_LEVEL_NUMBERS,
  type LogEntry,
  type LogQuery,
  type ShipLogs,
} from "#shared/protocol/schema/operations.ts";
import type { PipelineContext } from "../context.ts";
import { readSetting } from "./settings.ts";

const DAY_MS = 86_400_000;
/** Rows of one delete: a few milliseconds of SQLite's only writer. */
const CHUNK = 1_000;
/** Chunks of one pass; what is left is the next pass' work. */
const CHUNKS_PER_PASS = 50;

type LogsContext = Pick<PipelineContext, "config" | "clock"> & {
  db: Pick<PipelineContext["db"], "service_logs" | "settings">;
};

/** Values of this process that no log may show. */
export const ownSecrets = ({ config }: Pick<PipelineContext, "config">): (string | null)[] => [
  config.worker_secret,
  config.api_token,
  config.admin_password,
  config.codegen?.api_key ?? null,
  ...Object.values(config.recipe_env),
];

const levelName = (level: number): LogLevel =>
  LOG_LEVELS.findLast((name) => LOG_LEVEL_NUMBERS[name] <= level) ?? "debug";

const logRecord = (row: ServiceLogRow): LogEntry => ({
  ...row,
  ts: isoTime(row.ts),
  level: levelName(row.level),
});

/** Newest first (rules/pipeline-operations#service-logs). @throws AppError invalid for a cursor of another list */
export async function listLogs(
  ctx: LogsContext,
  { cursor, since, until, min_level, ...query }: LogQuery,
): Promise<{ logs: LogEntry[]; next_cursor: string | null }> {
  const before = cursor === undefined ? undefined : readTimeCursor(cursor);
  const filter = {
    ...query,
    min_level: min_level && LOG_LEVEL_NUMBERS[min_level],
    since: since === undefined ? undefined : Date.parse(since),
    until: until === undefined ? undefined : Date.parse(until),
    before: before && { ts: before.at, log_id: before.id },
  };
  const { page, next_cursor } = await pageOfRows(
    query.limit,
    (limit) => ctx.db.service_logs.list({ ...filter, limit }),
    ({ ts, log_id }) => timeCursor({ at: ts, id: log_id }),
  );
  return {
    logs: page.map(logRecord),
    next_cursor,
  };
}

/**
 * Stores what a process logs: lines below `service_log_level` are left out, this process' secrets are masked a
 * second time, and a time in the future becomes now, or it would stay the newest forever.
 */
export async function storeLogs(
  ctx: LogsContext,
  { host, service, logs }: ShipLogs,
): Promise<{ stored: number; min_level: LogLevel }> {
  const min_level = await readSetting(ctx, "service_log_level");
  const now = ctx.clock.now();
  const mask = createLogMask(ownSecrets(ctx));
  const rows = logs
    .filter(({ level }) => LOG_LEVEL_NUMBERS[level] >= LOG_LEVEL_NUMBERS[min_level])
    .map(({ ts, level, message, fields }) => ({
      host,
      service,
      level: LOG_LEVEL_NUMBERS[level],
      ts: Math.min(Date.parse(ts), now),
      message: mask.text(message),
      fields: mask.value(fields) as Record<string, unknown>,
    }));
  await ctx.db.service_logs.append(rows);
  return { stored: rows.length, min_level };
}

/**
 * Deletes lines beyond `service_log_days` and `service_log_max_rows`, a chunk at a time. Returns how many it deleted.
 */
export async function pruneLogsOnce(ctx: LogsContext, signal: AbortSignal): Promise<number> {
  const { service_logs } = ctx.db;
  const oldest = ctx.clock.now() - (await readSetting(ctx, "service_log_days")) * DAY_MS;
  const keep = await readSetting(ctx, "service_log_max_rows");
  let deleted = 0;
  for (const chunk of [
    () => service_logs.deleteBefore(Math.round(oldest), CHUNK),
    () => service_logs.deleteBeyond(keep, CHUNK),
  ])
    for (let i = 0; i < CHUNKS_PER_PASS && !signal.aborted; i += 1) {
      const gone = await chunk();
      deleted += gone;
      if (gone < CHUNK) break;
    }
  return deleted;
}
