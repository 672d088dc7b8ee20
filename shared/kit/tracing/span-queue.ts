import { retryWait } from "../backoff.ts";
import { endsWithin } from "../clock.ts";
import { hideCredentials } from "../hide-credentials.ts";
import type { Log } from "../log.ts";
import type { FinishedSpan } from "./otlp.ts";
import { type Collector, postSpans } from "./post-spans.ts";

/** As the batch processors of OpenTelemetry: a call holds so many, and they wait so long for company. */
const MOST_IN_CALL = 512;
const WAIT_MS = 2_000;
/** What does not fit is dropped: a collector that is away costs a bounded amount of memory, and no work. */
const MOST_KEPT = 4_096;
const AGAIN_MS = { first: 1_000, most: 30_000 };
const TELL_EVERY_MS = 60_000;

export interface SpanQueueDeps extends Collector {
  log: Log;
  random: () => number;
}

export interface SpanQueue {
  add(span: FinishedSpan): void;
  /** Sends what is left, within `ms`; a collector that does not take it is not asked again. */
  stop(ms: number): Promise<void>;
}

/** Sends spans in the background. Nobody waits for it, and nothing fails because of it. */
export function createSpanQueue(deps: SpanQueueDeps): SpanQueue {
  const { clock, random } = deps;
  /** Nothing is sent any more. */
  const over = new AbortController();
  const stopping = new AbortController();
  const waiting: FinishedSpan[] = [];
  const trouble = createTeller(deps);
  let sending: Promise<void> | null = null;
  /** Ends the wait for company. */
  let hurry: (() => void) | null = null;

  const sendAll = async (): Promise<void> => {
    for (let failures = 0; waiting.length > 0; ) {
      const spans = waiting.splice(0, MOST_IN_CALL);
      const not_taken = await postSpans(deps, spans, over.signal);
      if (not_taken === null) {
        failures = 0;
        continue;
      }
      const { lost, reason, later, wait_ms } = not_taken;
      if (!later || stopping.signal.aborted) {
        trouble.lost(lost, reason);
        continue;
      }
      const kept = spans.slice(0, Math.max(0, MOST_KEPT - waiting.length));
      waiting.unshift(...kept);
      if (kept.length < spans.length) trouble.lost(spans.length - kept.length, reason);
      else trouble.later(reason);
      failures += 1;
      const wait = wait_ms ?? retryWait(failures, AGAIN_MS, random());
      await clock.sleep(wait, stopping.signal);
    }
  };
  const soon = async (): Promise<void> => {
    const early = new AbortController();
    hurry = () => early.abort();
    if (!stopping.signal.aborted) await clock.sleep(WAIT_MS, early.signal);
    hurry = null;
    await sendAll();
  };
  const begin = () => {
    sending ??= soon().finally(() => {
      sending = null;
      if (waiting.length > 0 && !over.signal.aborted) begin();
    });
  };
  return {
    add: (span) => {
      if (stopping.signal.aborted) return;
      if (waiting.length >= MOST_KEPT) return trouble.lost(1, "the collector does not keep up");
      waiting.push(span);
      if (waiting.length >= MOST_IN_CALL) hurry?.();
      begin();
    },
    stop: async (ms) => {
      stopping.abort();
      hurry?.();
      const left = sending ?? Promise.resolve();
      await endsWithin(clock, ms, left);
      over.abort(new Error("the process is stopping"));
      await left;
      trouble.end();
    },
  };
}

/** Says in the log what does not arrive, at most once a minute, and at the end what was lost since. */
function createTeller({ url, clock, log }: Pick<SpanQueueDeps, "url" | "clock" | "log">) {
  const collector = hideCredentials(url);
  let dropped = 0;
  let told = 0;
  let told_at = Number.NEGATIVE_INFINITY;
  let last = "";

  const tell = (reason: string, message: string) => {
    last = reason;
    const now = clock.monotonic();
    if (now - told_at < TELL_EVERY_MS) return;
    told_at = now;
    told = dropped;
    log.warn({ url: collector, dropped, reason }, message);
  };
  const lost = (count: number, reason: string) => {
    dropped += count;
    tell(reason, "spans were lost");
  };
  return {
    lost,
    later: (reason: string) => tell(reason, "the collector takes no spans; they are sent again"),
    end: () => {
      if (dropped > told)
        log.warn({ url: collector, dropped, reason: last }, "spans were lost in total");
    },
  };
}
