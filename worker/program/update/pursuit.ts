import type { Clock } from "#shared/kit/clock.ts";
import type { Aim } from "./aim.ts";
import { UpdateRefused } from "./stage.ts";
import type { Versions } from "./versions.ts";

/** A hub whose archive was refused may be repaired. */
const RETRY_MS = 30_000;
const MAX_RETRY_MS = 600_000;

export interface PursuitDeps {
  version: string;
  aim: Aim;
  versions: Pick<Versions, "isHere" | "stage" | "refusalOf" | "forgive">;
  /** @throws why the version is not to be had */
  fetchVersion(wanted: string): Promise<void>;
  /** Leaves for a version that is on the disk. */
  change(wanted: string): Promise<void>;
  clock: Clock;
  stopping: AbortSignal;
}

/** Goes after the aim, one try after the other. Only one update is ever under way. */
export interface Pursuit {
  /** An offer: goes after the aim, or tries a version again that failed. */
  begin(): void;
  /** Offers so far. */
  offers(): number;
  /** The aim has changed: a try that waits begins now. */
  hurry(): void;
  /** Takes a release whose archive is on the disk, unless an update is under way. @throws why it was not taken */
  install(found: string, archive: string): Promise<void>;
  /** Resolves when no update is under way. */
  idle(): Promise<void>;
}

export function createPursuit(deps: PursuitDeps): Pursuit {
  const { version, aim, versions, clock, stopping } = deps;
  let running: Promise<void> | null = null;
  let wake = new AbortController();
  /** Offers to be followed, and how many there were when the last try began. */
  let offers = 0;
  let seen = 0;

  const follow = async (): Promise<void> => {
    for (let retry_ms = RETRY_MS; !stopping.aborted && aim.target() !== version; ) {
      const wanted = aim.target();
      seen = offers;
      wake = new AbortController();
      const over = await attempt(wanted, deps);
      if (aim.target() !== wanted) retry_ms = RETRY_MS;
      else if (over) return;
      else {
        await clock.sleep(retry_ms, AbortSignal.any([stopping, wake.signal]));
        retry_ms = Math.min(retry_ms * 2, MAX_RETRY_MS);
      }
    }
  };
  const begin = () => {
    offers += 1;
    if (running !== null) return;
    seen = offers;
    running = versions
      .forgive(aim.target())
      .then(follow)
      .catch(aim.refuseWith)
      .finally(() => {
        running = null;
        // An offer came while the last try was ending. A draining worker has already decided.
        if (offers > seen && !stopping.aborted && aim.report()?.state !== "draining") begin();
      });
  };
  const take = async (found: string, archive: string): Promise<void> => {
    const reason = await versions.refusalOf(found);
    if (reason !== null) throw new UpdateRefused(reason);
    if (!(await versions.isHere(found))) await versions.stage(archive, found);
    aim.set(found);
    await deps.change(found);
  };
  return {
    begin,
    offers: () => offers,
    hurry: () => wake.abort(),
    install: async (found, archive) => {
      if (running !== null) return;
      const work = take(found, archive);
      running = work
        .catch(() => {})
        .finally(() => {
          running = null;
          // A hub's offer in the meantime takes precedence.
          const target = aim.target();
          if (target !== found && target !== version && !stopping.aborted) begin();
        });
      await work;
    },
    idle: async () => {
      await running;
    },
  };
}

/** @returns false when it may work later. */
async function attempt(
  wanted: string,
  { aim, versions, fetchVersion, change, stopping }: PursuitDeps,
): Promise<boolean> {
  const reason = await versions.refusalOf(wanted);
  if (reason !== null) {
    aim.refuse(reason, true);
    return true;
  }
  try {
    aim.reached("fetching", wanted);
    if (!(await versions.isHere(wanted))) await fetchVersion(wanted);
    await change(wanted);
    return true;
  } catch (err) {
    if (stopping.aborted) return true;
    aim.refuseWith(err);
    return false;
  }
}
