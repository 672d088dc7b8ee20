import { createHash } from "node:crypto";
import type { Clock } from "#shared/kit/clock.ts";
import { AppError } from "#shared/kit/errors.ts";
import { newToken } from "#shared/protocol/ids.ts";
import type { Kv } from "../stores/kv.ts";

/** Wrong answers that are free unless a caller says otherwise; then each one doubles the wait, up to a minute. */
const FREE = 5;
const WAIT_MS = { first: 1_000, most: 60_000 };
/** After this long without a try, a count starts again. */
const FORGET_MS = 15 * 60_000;
/** At most this many counts are kept; further addresses share them and slow each other down. */
const COUNTS = 10_000;
/** Attempts to change a count that other processes keep changing; each time, one of them succeeded. */
const CHANGE_TRIES = 10;

interface Count {
  /** Changes with each write, so a write that was decided on an older count is not made. */
  id: string;
  tries: number;
  until: number;
}

/** The count of a browser that has logged in before, which no one else can use up. */
export const browserCount = (nonce: string): string => `browser:${nonce}`;

/** Slows down callers who guess: counts tries by caller, for all processes that share a store. */
export interface Throttle {
  /**
   * Counts a try before it is made, as a wrong one until `passed` is called: simultaneous guesses at several hubs
   * cannot outrun the count.
   * @param count whose tries: an address with what is guessed there (`whoseCount` in `http/require-admin.ts`), or a
   * browser's.
   * @param free wrong tries before the first wait.
   * @returns milliseconds to wait instead; 0 when the try may be made.
   * @throws AppError unavailable while the shared store does not answer.
   */
  take(count: string, free?: number): Promise<number>;
  /** Milliseconds to wait, as far as this process knows without a call to the store. */
  waits(count: string, free?: number): number;
  /** The try was right, so the count starts again. */
  passed(count: string): Promise<void>;
}

function keyOf(count: string): string {
  const digest = createHash("sha256").update(count).digest();
  const name = count.startsWith(browserCount(""))
    ? digest.toString("hex")
    : digest.readUInt32BE() % COUNTS;
  return `admin-tries:${name}`;
}

const waitAfter = (tries: number, free: number): number =>
  tries < free ? 0 : Math.min(WAIT_MS.most, WAIT_MS.first * 2 ** Math.min(tries - free, 20));

export function createThrottle(
  kv: Pick<Kv, "get" | "setIf" | "setIfAbsent" | "delete">,
  clock: Pick<Clock, "now">,
): Throttle {
  const known = new Map<string, number>();
  /** Tries that are being counted: a crowd of simultaneous guesses has to wait. */
  const counting = new Map<string, number>();
  const remember = (key: string, until: number): void => {
    if (known.size >= COUNTS) known.clear();
    if (until > clock.now()) known.set(key, until);
    else known.delete(key);
  };
  const asked = <T>(answer: Promise<T>): Promise<T> =>
    answer.catch((cause: unknown) => {
      throw new AppError("unavailable", "the shared store does not answer", { cause });
    });
  const counted = async (key: string, work: () => Promise<number>): Promise<number> => {
    counting.set(key, (counting.get(key) ?? 0) + 1);
    try {
      return await work();
    } finally {
      const left = (counting.get(key) ?? 1) - 1;
      if (left > 0) counting.set(key, left);
      else counting.delete(key);
    }
  };
  const takeOne = async (key: string, free: number): Promise<number> => {
    for (let i = 0; i < CHANGE_TRIES; i += 1) {
      const before = await asked(kv.get<Count>(key));
      const now = clock.now();
      if (before && before.until > now) {
        remember(key, before.until);
        return before.until - now;
      }
      const tries = (before?.tries ?? 0) + 1;
      const next: Count = { id: newToken(), tries, until: now + waitAfter(tries, free) };
      const changed = before
        ? kv.setIf(key, { id: before.id }, next, FORGET_MS)
        : kv.setIfAbsent(key, next, FORGET_MS);
      if (!(await asked(changed))) continue;
      remember(key, next.until);
      return 0;
    }
    return WAIT_MS.first;
  };
  return {
    take: (count, free = FREE) => counted(keyOf(count), () => takeOne(keyOf(count), free)),
    waits: (count, free = FREE) => {
      const key = keyOf(count);
      if ((counting.get(key) ?? 0) >= free) return WAIT_MS.first;
      return Math.max(0, (known.get(key) ?? 0) - clock.now());
    },
    passed: (count) => {
      known.delete(keyOf(count));
      return asked(kv.delete(keyOf(count)));
    },
  };
}
