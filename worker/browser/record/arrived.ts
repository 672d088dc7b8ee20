import type { Clock } from "#shared/kit/clock.ts";
import type { RequestEntry } from "./requests.ts";

/** The end of a body that its page reads follows its last bytes at once. */
export const UNREAD_MS = 250;

/** Tells of responses whose bytes stopped coming while their end is not told. */
export interface Arrivals {
  /** Bytes of this response were told. */
  heard(entry: RequestEntry): void;
}

/**
 * Chromium tells the end of a body when the page has read it. Blink reads ahead for a page that does not, but not where the
 * answer says `no-store`: beacons whose answer nobody looks at never end, though all of their bytes are there.
 * @param check called once for every pause of at least `UNREAD_MS` in an open response
 */
export function watchArrivals(
  clock: Clock,
  isOpen: (entry: RequestEntry) => boolean,
  check: (entry: RequestEntry) => void,
): Arrivals {
  /** When each was last heard of. */
  const waiting = new Map<RequestEntry, number>();
  let running = false;

  const look = () => {
    for (const [entry, at] of waiting) {
      const open = isOpen(entry);
      if (open && clock.now() - at < UNREAD_MS) continue;
      waiting.delete(entry);
      if (open) check(entry);
    }
  };
  const run = async () => {
    running = true;
    while (waiting.size > 0) {
      await clock.sleep(UNREAD_MS);
      look();
    }
    running = false;
  };
  return {
    heard: (entry) => {
      waiting.set(entry, clock.now());
      if (!running) void run();
    },
  };
}
