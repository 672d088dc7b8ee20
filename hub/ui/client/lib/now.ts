import { useSyncExternalStore } from "react";

const EVERY_MS = 1_000;
let now = Date.now();
let timer: ReturnType<typeof setTimeout> | undefined;
const listeners = new Set<() => void>();

function tick(): void {
  now = Date.now();
  for (const heard of listeners) heard();
  timer = setTimeout(tick, EVERY_MS);
}

const subscribe = (heard: () => void) => {
  listeners.add(heard);
  if (timer === undefined) {
    // The clock stood still while nothing on the page used it.
    now = Date.now();
    timer = setTimeout(tick, EVERY_MS);
  }
  return () => {
    listeners.delete(heard);
    if (listeners.size > 0) return;
    clearTimeout(timer);
    timer = undefined;
  };
};

/** The time, once a second, for everything on the page that counts. */
export const useNow = (): number => useSyncExternalStore(subscribe, () => now);

/** What a text says now: what shows it is drawn again when that changes, not every second. */
export const useNowText = (textAt: (now: number) => string): string =>
  useSyncExternalStore(subscribe, () => textAt(now));
