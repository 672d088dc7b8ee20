import { createServerClock } from "./server-clock.ts";

/** What the page knows of its server: since when it does not answer, and what time it has. */

const clock = createServerClock();
/** The server's time, so that nothing that has just happened lies ahead. */
export const serverNow = clock.now;

let since: number | null = null;
const listeners = new Set<() => void>();

/** When calls began to get no answer, by this browser's clock; null while they do. */
export const offlineSince = (): number | null => since;
export const subscribeConnection = (changed: () => void) => {
  listeners.add(changed);
  return () => void listeners.delete(changed);
};

function setSince(next: number | null): void {
  if ((since === null) === (next === null)) return;
  since = next;
  for (const changed of listeners) changed();
}

/** Answers so far, whatever they were to. */
let heard = 0;

/** Whether a call was ended by its deadline, and not by the page that no longer wanted it. */
const isLate = ({ signal }: RequestInit): boolean =>
  (signal?.reason as Partial<Error> | undefined)?.name === "TimeoutError";

/** `fetch`, which notes whether the server was reached, and whether it answers. */
export async function fetchHeard(address: string, init: RequestInit): Promise<Response> {
  const sent = Date.now();
  const before = heard;
  try {
    const response = await fetch(address, init);
    heard += 1;
    clock.heard(response.headers.get("date"), sent, Date.now());
    setSince(null);
    return response;
  } catch (err) {
    // A call that the page gave up says nothing about the server.
    if (!init.signal?.aborted) setSince(Date.now());
    // One call may take long; a server that meanwhile answered no other hangs.
    else if (isLate(init) && heard === before) setSince(sent);
    throw err;
  }
}
