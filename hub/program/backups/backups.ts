import type { HubConfig } from "#hub/platform/config.ts";
import { NEVER, tickAfter } from "#hub/platform/cron.ts";
import type { Db } from "#hub/platform/db/storage.ts";
import { type Clock, isoTime } from "#shared/kit/clock.ts";
import { ConfigError } from "#shared/kit/env.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import type { Degraded } from "#shared/protocol/schema/health.ts";
import type { MadeBackup } from "./run-backup.ts";

/**
 * Scheduled backups (`SVC_BACKUP_DIR`). One row of the settings' table holds when the next one is due and which hub
 * makes it: each change is one conditional update, so that only one of several hubs makes a backup, never two at a
 * time. A tick that was missed while no hub ran is made up for at the next start.
 */

export const BACKUP_STATE_KEY = "backup.state";
/** A hub that has not renewed its lease for this long is dead, and another one makes the backup. */
const LEASE_MS = 60_000;
const RENEW_MS = 15_000;
/** The wait after a failed backup, unless a tick comes first. */
const RETRY_MS = 15 * 60_000;
/** A backup that is overdue by this long is reported: every hub is down, or its loop is stuck. */
const LATE_MS = 60 * 60_000;

interface LastBackup {
  at: number;
  ok: boolean;
  /** The file, or the reason why there is none. */
  said: string;
}

export interface BackupState {
  /** Epoch ms; also the version of the row, by which a change finds out whether another hub was faster. */
  written_at: number;
  /** The schedule that `next_at` was computed from. */
  spec: string;
  next_at: number;
  running: { hub: string; until: number } | null;
  last: LastBackup | null;
  last_ok_at: number | null;
}

export interface BackupContext {
  readonly clock: Clock;
  readonly log: Log;
  readonly db: Pick<Db, "settings">;
  readonly backup: NonNullable<HubConfig["backup"]>;
  /** Identifies this process within the fleet. */
  readonly hub: string;
  /** Makes, verifies and names one, and removes those beyond `keep`. */
  readonly run: (signal: AbortSignal) => Promise<MadeBackup>;
}

/** @throws ConfigError for a schedule that has no future time. */
export function demandTick(schedule: string, now: number): void {
  let next = NEVER;
  try {
    next = tickAfter({ pattern: schedule }, now);
  } catch {
    // Not a pattern at all.
  }
  if (next === NEVER)
    throw new ConfigError(
      "SVC_BACKUP_SCHEDULE: must be a cron pattern that matches a future time, such as 0 3 * * *",
    );
}

const readState = async ({ db }: Pick<BackupContext, "db">): Promise<BackupState | null> =>
  (await db.settings.get(BACKUP_STATE_KEY)) as BackupState | null;

/** Replaces `was` by a state with these fields; null when another hub has changed it meanwhile. */
async function change(
  { db, clock }: BackupContext,
  was: BackupState,
  fields: Partial<BackupState>,
): Promise<BackupState | null> {
  // Two changes within a millisecond, or after the clock was set back, must still differ.
  const written_at = Math.max(clock.now(), was.written_at + 1);
  const state = { ...was, ...fields, written_at };
  const times = { was: was.written_at, written_at };
  return (await db.settings.replace(BACKUP_STATE_KEY, state, times)) ? state : null;
}

/** Checks whether a backup is due, and makes it if no other hub does. */
export async function backUpOnce(ctx: BackupContext, signal: AbortSignal): Promise<void> {
  const { clock, db, backup } = ctx;
  const now = clock.now();
  const state = await readState(ctx);
  if (state === null) {
    const first: BackupState = {
      written_at: now,
      spec: backup.schedule,
      next_at: tickAfter({ pattern: backup.schedule }, now),
      running: null,
      last: null,
      last_ok_at: null,
    };
    await db.settings.add(BACKUP_STATE_KEY, first, now);
    return;
  }
  if (state.running !== null && state.running.until > now) return;
  if (state.spec !== backup.schedule) {
    await change(ctx, state, {
      spec: backup.schedule,
      next_at: tickAfter({ pattern: backup.schedule }, now),
    });
    return;
  }
  if (state.next_at > now) return;
  const held = await change(ctx, state, { running: { hub: ctx.hub, until: now + LEASE_MS } });
  if (held !== null) await makeOne(ctx, held, signal);
}

async function makeOne(ctx: BackupContext, begun: BackupState, signal: AbortSignal): Promise<void> {
  const { clock, log, backup } = ctx;
  const began = clock.monotonic();
  const stop = new AbortController();
  const both = AbortSignal.any([signal, stop.signal]);
  let held: BackupState | null = begun;
  const renewing = (async () => {
    for (;;) {
      await clock.sleep(RENEW_MS, stop.signal);
      if (stop.signal.aborted || held === null) return;
      const until = clock.now() + LEASE_MS;
      held = await change(ctx, held, { running: { hub: ctx.hub, until } }).catch(() => held);
      if (held !== null && held.running?.hub === ctx.hub && held.running.until > clock.now())
        continue;
      log.error({}, "giving up the backup: another hub makes it, or the database is unreachable");
      stop.abort();
    }
  })();
  const made = await ctx.run(both).then(
    ({ file, warned }): LastBackup => {
      if (warned !== "")
        log.warn({ file, warned }, "a restore of this backup would not bring everything back");
      return { at: clock.now(), ok: true, said: file };
    },
    (err): LastBackup => ({ at: clock.now(), ok: false, said: errorMessage(err) }),
  );
  stop.abort();
  await renewing;
  const took_ms = Math.round(clock.monotonic() - began);
  if (made.ok) log.info({ file: made.said, took_ms }, "backup written and verified");
  else log.error({ reason: made.said, took_ms }, "backup failed");
  if (held === null) return;
  const tick = tickAfter({ pattern: backup.schedule }, clock.now());
  await change(ctx, held, {
    running: null,
    // A hub that stops leaves the backup to the next one.
    next_at: made.ok ? tick : signal.aborted ? begun.next_at : Math.min(tick, made.at + RETRY_MS),
    ...(!signal.aborted && { last: made }),
    ...(made.ok && { last_ok_at: made.at }),
  });
}

/** What is wrong with the scheduled backups; null when nothing is. */
export async function backupTrouble({
  db,
  clock,
}: Pick<BackupContext, "db" | "clock">): Promise<Degraded | null> {
  const state = await readState({ db });
  if (state === null) return null;
  const { last, last_ok_at, next_at, running } = state;
  const before =
    last_ok_at === null
      ? "no backup has succeeded yet"
      : `the last good one is from ${isoTime(last_ok_at)}`;
  if (last !== null && !last.ok)
    return {
      part: "backup",
      detail: `the backup at ${isoTime(last.at)} failed: ${last.said}; ${before}`,
    };
  if (running === null && next_at + LATE_MS < clock.now())
    return { part: "backup", detail: `a backup has been due since ${isoTime(next_at)}; ${before}` };
  return null;
}
