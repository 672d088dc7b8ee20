import type { Clock } from "#shared/kit/clock.ts";
import type { RequestEntry } from "./requests.ts";

/** When a page reads a body, its end follows its last bytes at once. */
export const UNREAD_MS = 250;

/** Reports responses whose bytes stopped arriving although no end was reported. */
export interface Arrivals {
  /** Bytes of this response were reported. */
  heard(entry: RequestEntry): void;
}

/**
 * Chromium reports the end of a body when the page has read it. Blink reads ahead for a page that does not, but not
 * when the answer says `no-store`: beacons whose answer nobody reads never end, although all of their bytes are
 * there.
 * @param check called once for every pause of at least `UNREAD_MS` in an open response
 */
export function watchArrivals(
  clock: Clock,
  isOpen: (entry: RequestEntry) => boolean,
  check: (entry: RequestEntry) => void,
): Arrivals {
  /** When bytes of each response last arrived. */
  const waiting = new Map<RequestEntry, number>();
  let running = false;

  const look = () => {
    for (const [entry, at] of waiting) {
      const open = isOpen(entry);
      if (open && clock.monotonic() - at < UNREAD_MS) continue;
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
      waiting.set(entry, clock.monotonic());
      if (!running) void run();
    },
  };
}
