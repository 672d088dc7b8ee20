import { useSyncExternalStore } from "react";
import { offlineSince, serverNow } from "./connection.ts";

const EVERY_MS = 1_000;
let now = serverNow();
let timer: ReturnType<typeof setTimeout> | undefined;
const listeners = new Set<() => void>();

function tick(): void {
  // While the server cannot be reached nothing is known to go on.
  if (offlineSince() === null) now = serverNow();
  for (const heard of listeners) heard();
  timer = setTimeout(tick, EVERY_MS);
}

const subscribe = (heard: () => void) => {
  listeners.add(heard);
  timer ??= setTimeout(tick, EVERY_MS);
  return () => {
    listeners.delete(heard);
    if (listeners.size > 0) return;
    clearTimeout(timer);
    timer = undefined;
  };
};

/** The clock stands still while nothing on the page uses it: what is drawn first is not to be drawn with an old time. */
function current(): number {
  if (timer === undefined && Math.abs(serverNow() - now) > EVERY_MS) now = serverNow();
  return now;
}

/** The server's time, once a second, for everything on the page that counts. */
export const useNow = (): number => useSyncExternalStore(subscribe, current);

/** What a text says now: what shows it is drawn again when that changes, not every second. */
export const useNowText = (textAt: (now: number) => string): string =>
  useSyncExternalStore(subscribe, () => textAt(current()));
