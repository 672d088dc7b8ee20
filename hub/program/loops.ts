import type { FleetContext } from "#hub/fleet/context.ts";
import { stopEndedOnce } from "#hub/fleet/jobs/ended-elsewhere.ts";
import { lookForHubsOnce } from "#hub/fleet/jobs/hub-messages.ts";
import { reconcileOnce, redriveOnce } from "#hub/fleet/jobs/passes.ts";
import { RETAIN_JOBS_EVERY_MS, retainJobsOnce } from "#hub/fleet/jobs/retention.ts";
import { storeUnstoredOnce } from "#hub/fleet/jobs/unstored.ts";
import { retryReleasesOnce } from "#hub/fleet/links/lanes.ts";
import { livenessOnce, readStatusesOnce, touchWorkersOnce } from "#hub/fleet/links/passes.ts";
import { publishChangesOnce } from "#hub/fleet/links/registration.ts";
import { endLostRecordings } from "#hub/fleet/recordings/keep.ts";
import { type ProfileSweeper, SWEEP_EVERY_MS } from "#hub/fleet/registries/profile-sweep.ts";
import { recordCounts } from "#hub/fleet/sessions/past.ts";
import { PLACE_BEAT_MS, publishPlacesOnce } from "#hub/fleet/sessions/places.ts";
import { reapSessionsOnce } from "#hub/fleet/sessions/reap.ts";
import { createWatcher } from "#hub/fleet/watches/passes.ts";
import { startPipelineLoops } from "#hub/pipeline/background.ts";
import type { PipelineContext } from "#hub/pipeline/context.ts";
import { beatHubOnce, HUB_BEAT_MS } from "#hub/platform/cluster/hubs.ts";
import type { Db } from "#hub/platform/db/storage.ts";
import { LOOK_EVERY_MS } from "#hub/platform/rollout/rollout.ts";
import { DISK_LOOK_MS } from "#hub/platform/stores/disk-room.ts";
import { addLoop } from "#shared/kit/loop.ts";
import type { Scope } from "#shared/kit/scope.ts";
import { newToken } from "#shared/protocol/ids.ts";
import { backUpOnce } from "./backups/backups.ts";
import { runBackupProcess } from "./backups/run-backup.ts";
import type { ProgramContext } from "./context.ts";
import type { HubDeps } from "./hub-deps.ts";
import { backupsOf } from "./open-parts.ts";

const LIVENESS_EVERY_MS = 5_000;
const REAP_EVERY_MS = 1_000;
/** How often to look for recordings whose worker is gone. */
const LOST_RECORDINGS_EVERY_MS = 10_000;
/** How soon a job ends after the database is back, if its result came while it was away. */
const UNSTORED_EVERY_MS = 1_000;
/** Every ended job is indexed before a search reads; this keeps a search from finding many to do. */
const INDEX_WORDS_EVERY_MS = 1_000;
/** How often hubs report their lanes to each other, changed or not. */
const NEWS_EVERY_MS = 1_000;

/** Starts the loop that rolls updates out to the workers. */
export function startRollout(
  { rollout, clock, log }: Pick<FleetContext, "rollout" | "clock" | "log">,
  scope: Scope,
): void {
  addLoop(scope, { name: "updates", everyMs: LOOK_EVERY_MS, clock, log, pass: rollout.pass });
}

/** Whether a backup is due. */
const BACKUP_LOOK_MS = 5_000;

/** Makes the scheduled backups, where there are any. */
export function startBackups(deps: HubDeps, { db }: { db: Db }, scope: Scope): void {
  const { config, clock, log } = deps;
  const made = backupsOf(deps);
  if (made === null) return;
  const { backup, self } = made;
  const run = (signal: AbortSignal) => runBackupProcess(self, config, signal);
  const backups = { clock, log, db, backup, run, hub: newToken().slice(0, 12) };
  const pass = (signal: AbortSignal) => backUpOnce(backups, signal);
  addLoop(scope, { name: "backups", everyMs: BACKUP_LOOK_MS, clock, log, pass });
}

type Watched = Pick<PipelineContext, "disk_room" | "changes" | "pipeline" | "clock" | "log">;

/** Looks whether the disks have room; with room again, waiting claims are answered, and `goOn` is called. */
export function watchDisks(
  { disk_room, changes, pipeline, clock, log }: Watched,
  scope: Scope,
  goOn = () => {},
): void {
  const pass = async () => {
    if (!(await disk_room.look())) return;
    changes.touch("health");
    pipeline.ready.nudge();
    goOn();
  };
  addLoop(scope, { name: "disk room", everyMs: DISK_LOOK_MS, clock, log, pass });
}

/** A hub checks this in its liveness loop. */
export function watchWallClock(
  { clock, log, wall_jumps }: Pick<ProgramContext, "clock" | "log" | "wall_jumps">,
  scope: Scope,
): void {
  const pass = async () => wall_jumps.look();
  addLoop(scope, { name: "wall clock", everyMs: LIVENESS_EVERY_MS, clock, log, pass });
}

export function startLoops(
  deps: HubDeps,
  ctx: ProgramContext,
  scope: Scope,
  sweeper: ProfileSweeper,
): void {
  const { clock, log, config } = ctx;
  const loop = (name: string, everyMs: number, pass: (signal: AbortSignal) => Promise<unknown>) =>
    addLoop(scope, {
      name,
      everyMs,
      clock,
      log,
      pass: async (signal) => void (await pass(signal)),
    });
  let touched = 0;
  loop("hub beat", HUB_BEAT_MS, async () => {
    await beatHubOnce(ctx);
    await lookForHubsOnce(ctx);
    await readStatusesOnce(ctx);
    const since = touched;
    touched = clock.monotonic();
    await touchWorkersOnce(ctx, since);
  });
  loop("liveness", LIVENESS_EVERY_MS, async () => {
    ctx.wall_jumps.look();
    await livenessOnce(ctx);
    ctx.dispatcher.retryFailed();
    await retryReleasesOnce(ctx);
    if (ctx.cluster.peers.size === 0) return;
    // A wake may have been lost.
    ctx.dispatcher.kick();
    await stopEndedOnce(ctx);
  });
  if (ctx.cluster.shared)
    loop("hub news", NEWS_EVERY_MS, async () => {
      if (ctx.cluster.peers.size === 0) return;
      ctx.candidate.tell();
      await publishChangesOnce(ctx);
    });
  // The failed write has been logged.
  loop("unstored results", UNSTORED_EVERY_MS, () => storeUnstoredOnce(ctx).catch(() => {}));
  loop("words of jobs", INDEX_WORDS_EVERY_MS, () => ctx.db.jobs.indexWords());
  loop("reconciler", config.stale.reconcile_interval_ms, () => reconcileOnce(ctx));
  loop("profile sweep", SWEEP_EVERY_MS, () => sweeper.sweep());
  loop("job retention", RETAIN_JOBS_EVERY_MS, (signal) => retainJobsOnce(ctx, signal));
  loop("lost recordings", LOST_RECORDINGS_EVERY_MS, () => endLostRecordings(ctx));
  loop("watches", 0, createWatcher(ctx));
  loop("session reaper", REAP_EVERY_MS, () => reapSessionsOnce(ctx));
  loop("session places", PLACE_BEAT_MS, () => publishPlacesOnce(ctx));
  loop("actions of sessions", PLACE_BEAT_MS, () => recordCounts(ctx));
  watchDisks(ctx, scope, () => {
    ctx.candidate.tell();
    ctx.dispatcher.kick();
  });
  startPipelineLoops(ctx, scope);
  startBackups(deps, ctx, scope);
  startRollout(ctx, scope);
  if (config.queue.redrive)
    loop("redrive", config.queue.redrive_interval_ms, () => redriveOnce(ctx));
}
