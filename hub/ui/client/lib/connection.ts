import { createServerClock } from "./server-clock.ts";

/** What the page knows of its server: since when it cannot be reached, and what time it has. */

const clock = createServerClock();
/** The server's time, so that nothing that has just happened lies ahead. */
export const serverNow = clock.now;

let since: number | null = null;
const listeners = new Set<() => void>();

/** When calls began to reach nobody, by this browser's clock; null while they do. */
export const offlineSince = (): number | null => since;
export const subscribeConnection = (heard: () => void) => {
  listeners.add(heard);
  return () => void listeners.delete(heard);
};

function setSince(next: number | null): void {
  if ((since === null) === (next === null)) return;
  since = next;
  for (const heard of listeners) heard();
}

/** `fetch`, which notes whether the server was reached. */
export async function fetchHeard(address: string, init: RequestInit): Promise<Response> {
  const sent = Date.now();
  try {
    const response = await fetch(address, init);
    clock.heard(response.headers.get("date"), sent, Date.now());
    setSince(null);
    return response;
  } catch (err) {
    // A call that the page gave up says nothing about the server.
    if (!init.signal?.aborted) setSince(Date.now());
    throw err;
  }
}
