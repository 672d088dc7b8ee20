/** `Date` of an answer has whole seconds. */
const RESOLUTION_MS = 999;

export interface ServerClock {
  /** The time at the server. */
  now(): number;
  /** An answer whose `Date` is `date`, to what was sent and received at these times of this browser's clock. */
  heard(date: string | null, sent: number, received: number): void;
}

/**
 * The server's time as its answers bound it: each says in which second it was written, and all of them together leave
 * little room. A browser whose own time fits is believed.
 */
export function createServerClock(clock: () => number = Date.now): ServerClock {
  /** Between these the server's clock is ahead of the browser's, in milliseconds. */
  let least = Number.NEGATIVE_INFINITY;
  let most = Number.POSITIVE_INFINITY;
  const ahead = () => (least <= 0 && most >= 0 ? 0 : (least + most) / 2);
  return {
    now: () => clock() + ahead(),
    heard: (date, sent, received) => {
      const at = Date.parse(date ?? "");
      if (Number.isNaN(at)) return;
      const [from, until] = [at - received, at + RESOLUTION_MS - sent];
      // One of the two clocks was set.
      const jumped = from > most || until < least;
      least = jumped ? from : Math.max(least, from);
      most = jumped ? until : Math.min(most, until);
    },
  };
}
