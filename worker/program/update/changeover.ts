import type { Clock } from "#shared/kit/clock.ts";
import type { Log } from "#shared/kit/log.ts";
import type { Aim } from "./aim.ts";
import type { Versions } from "./versions.ts";

/** How often a postponed update checks whether the sessions are gone. */
const QUIET_CHECK_MS = 1_000;

export interface ChangeoverDeps {
  version: string;
  /** How long open sessions may delay an update. */
  wait_ms: number;
  aim: Aim;
  versions: Pick<Versions, "swap">;
  stopping: AbortSignal;
  /** Sessions that people or programs hold open. */
  sessions(): number;
  /** Accepts nothing new and resolves when nothing is running any more; sessions are ended at `until` (monotonic). */
  drain(why: string, until: number): Promise<void>;
  /** Everything is saved: the process may end with 42. */
  exit(): void;
  clock: Clock;
  log: Log;
}

/**
 * Drains and leaves for a version that is on the disk; a target that is the running version again needs no swap, but the
 * worker has drained. Does nothing when it is not wanted any more.
 */
export async function changeTo(wanted: string, deps: ChangeoverDeps): Promise<void> {
  const { version, aim, clock, log, stopping } = deps;
  const until = clock.monotonic() + deps.wait_ms;
  aim.reached("waiting", wanted);
  if (deps.sessions() > 0)
    log.info({ target: wanted, sessions: deps.sessions() }, "the update waits for open sessions");
  // Sessions delay an update, but not forever.
  while (deps.sessions() > 0 && clock.monotonic() < until && !stopping.aborted)
    await clock.sleep(QUIET_CHECK_MS, stopping);
  if (stopping.aborted || aim.target() !== wanted) return;
  aim.reached("draining", wanted);
  log.info({ version, target: wanted }, "draining for an update");
  // Before the drain: a disk that takes no pointer must not cost the worker its lanes.
  const takeBack = await deps.versions.swap(wanted);
  await deps.drain(`worker is updating to ${wanted}`, until);
  if (stopping.aborted) return;
  if (aim.target() !== wanted) await takeBack().catch(aim.refuseWith);
  log.info({ version, target: aim.target() }, "exiting for an update");
  deps.exit();
}
