import { statfs } from "node:fs/promises";
import { type Clock, withDeadline } from "#shared/kit/clock.ts";
import { AppError } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import { humanSize } from "#shared/kit/words.ts";
import type { DiskHealth } from "#shared/protocol/schema/health.ts";

/**
 * Whether the disks that this process writes to have room for new work (rules/storage#disk-reserve). What runs needs
 * what is left to end well, so new work is refused before a disk is full.
 */

/** How often a disk is asked for its free bytes; a call is answered from the last answer. */
export const DISK_LOOK_MS = 1_000;
/** A network disk may hang for minutes. */
const ASK_MS = 2_000;
const DEFAULT_RESERVE_BYTES = 500_000_000;
/** On a small disk the default reserve is this part of it. */
const SMALL_DISK_PART = 1 / 20;
/** So much more than the reserve must be free before work goes on, or it would stop and go at the limit. */
const AGAIN = 1.1;
/** After a refusal the client should try again in this many seconds. */
const RETRY_AFTER_S = 10;

/** A directory that is written to, in words that follow "the disk of". */
export interface WrittenDir {
  readonly what: string;
  readonly dir: string;
}

export interface DiskRoom {
  /** The disk that has least beside its reserve; null: none is watched, or none has answered yet. */
  readonly disk: DiskHealth | null;
  /** How large that disk is. */
  readonly size_bytes: number | null;
  /** Why nothing new is taken, as a sentence without its full stop; null while there is room. */
  readonly shortage: string | null;
  /** @throws AppError unavailable, when a disk is short. */
  requireRoom(): void;
  /** Asks the disks. @returns whether work has to stop or may go on again since the last look. */
  look(): Promise<boolean>;
}

interface Asked {
  readonly disk: DiskHealth;
  readonly size_bytes: number;
  readonly what: string;
  readonly dir: string;
}

/** What a disk says of itself. */
export type AskDisk = (dir: string) => Promise<{ free_bytes: number; size_bytes: number }>;

const askDisk: AskDisk = async (dir) => {
  const { bavail, blocks, bsize } = await statfs(dir);
  return { free_bytes: bavail * bsize, size_bytes: blocks * bsize };
};

interface RoomDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly dirs: readonly WrittenDir[];
  /** Null: the default; 0: nothing is watched. */
  readonly reserve_bytes: number | null;
  readonly ask?: AskDisk;
}

export function createDiskRoom({
  clock,
  log,
  dirs,
  reserve_bytes,
  ask = askDisk,
}: RoomDeps): DiskRoom {
  /** Questions without an answer yet: a disk that hangs is not asked again. */
  const asking = new Map<string, ReturnType<AskDisk>>();
  const silent = new Set<string>();
  let worst: Asked | null = null;

  const answerOf = async ({ what, dir }: WrittenDir) => {
    const question =
      asking.get(dir) ??
      ask(dir).finally(() => {
        asking.delete(dir);
      });
    asking.set(dir, question);
    try {
      const answer = await withDeadline(`the disk of ${what}`, ASK_MS, question, clock);
      silent.delete(dir);
      return { what, dir, ...answer };
    } catch (err) {
      // Whether the stores can write is asked elsewhere; an unknown disk stops nothing.
      if (!silent.has(dir)) log.warn({ err, dir }, "could not read a disk's free space");
      silent.add(dir);
      return null;
    }
  };

  const look = async (): Promise<boolean> => {
    if (reserve_bytes === 0) return false;
    const answers = (await Promise.all(dirs.map(answerOf))).filter((one) => one !== null);
    if (answers.length === 0) return false;
    const was = worst?.disk.status ?? "ok";
    const asked = answers.map(({ what, dir, free_bytes, size_bytes }): Asked => {
      const usual = Math.min(DEFAULT_RESERVE_BYTES, Math.floor(size_bytes * SMALL_DISK_PART));
      const reserve = reserve_bytes ?? usual;
      const was_short = worst?.dir === dir && was === "degraded";
      const status = free_bytes < reserve * (was_short ? AGAIN : 1) ? "degraded" : "ok";
      return { what, dir, size_bytes, disk: { status, free_bytes, reserve_bytes: reserve } };
    });
    const beside = ({ disk }: Asked) => disk.free_bytes - disk.reserve_bytes;
    const short = asked.filter(({ disk }) => disk.status === "degraded");
    const [least] = (short.length > 0 ? short : asked).sort((a, b) => beside(a) - beside(b));
    worst = least ?? null;
    const { status } = least?.disk ?? { status: was };
    if (status === was) return false;
    const told = { dir: least?.dir, ...least?.disk };
    if (status === "degraded") log.warn(told, "a disk is short: no new work is taken");
    else log.info(told, "the disks have room again: new work is taken");
    return true;
  };

  const shortage = () =>
    worst?.disk.status === "degraded" ? shortageOf(worst.what, worst.disk) : null;
  return {
    get disk() {
      return worst?.disk ?? null;
    },
    get size_bytes() {
      return worst?.size_bytes ?? null;
    },
    get shortage() {
      return shortage();
    },
    requireRoom: () => {
      const short = shortage();
      if (short === null) return;
      throw new AppError("unavailable", `${short}; no new work is taken until then`, {
        headers: { "Retry-After": String(RETRY_AFTER_S) },
      });
    },
    look,
  };
}

const shortageOf = (what: string, { free_bytes, reserve_bytes }: DiskHealth): string =>
  `the disk of ${what} has ${humanSize(free_bytes)} free, less than the reserve of ${humanSize(reserve_bytes)}: free up space there, or lower SVC_DISK_RESERVE_BYTES`;
