import type { Clock } from "#shared/kit/clock.ts";

interface TakingDeps {
  clock: Clock;
  /** Aborts when the caller has gone. */
  signal: AbortSignal;
  /** How long the caller may take to read all of it. */
  most_ms: number;
  /** Called once, with the reason. */
  end(reason: string): void;
}

/**
 * The same stream. `end` is called when all of it was taken, its source broke, its reader has gone, or its time is up, also
 * when nobody ever reads it.
 */
export function untilTaken(
  body: ReadableStream<Uint8Array>,
  { clock, signal, most_ms, end }: TakingDeps,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const over = new AbortController();
  const finish = (reason: string) => {
    if (over.signal.aborted) return;
    over.abort();
    end(reason);
  };
  return new ReadableStream<Uint8Array>({
    start: (to) => {
      const cut = (reason: string) => {
        if (over.signal.aborted) return;
        finish(reason);
        to.error(new Error(reason));
        reader.cancel(reason).catch(() => {});
      };
      const gone = () => cut("its caller has gone");
      signal.addEventListener("abort", gone, { once: true, signal: over.signal });
      if (signal.aborted) gone();
      void clock.sleep(most_ms, over.signal).then(() => cut("its answer was not taken in time"));
    },
    pull: async (to) => {
      try {
        const { done, value } = await reader.read();
        if (over.signal.aborted) return;
        if (!done) return to.enqueue(value);
        finish("its answer was taken");
        to.close();
      } catch (err) {
        finish("its answer broke off");
        throw err;
      }
    },
    cancel: (why) => {
      finish("its caller has gone");
      return reader.cancel(why);
    },
  });
}
