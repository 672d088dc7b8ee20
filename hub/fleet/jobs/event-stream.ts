import type { EventRow, JobRow } from "#hub/platform/db/rows.ts";
import { GOING_AWAY } from "#hub/platform/http/going-away.ts";
import { type Clock, endsWithin } from "#shared/kit/clock.ts";
import { isTerminal } from "#shared/protocol/schema/job.ts";
import type { FleetContext } from "../context.ts";
import { isHeldHere } from "./elsewhere.ts";
import { missingEnd } from "./events.ts";
import { eventRecord } from "./record.ts";

const PAGE = 500;
/** How often a stream checks for itself when its job does not run at this hub. */
const POLL_MS = 5_000;
/** A reader that takes nothing for this long is cut off. */
const SLOW_READER_MS = 30_000;

export const EVENT_CLOSE = {
  done: 1000,
  internal: 1011,
  too_slow: 4408,
  unknown_job: 4404,
} as const;

export interface EventSink {
  /** False when the message waits in a buffer: send no more until `drained` was called. */
  send(text: string): boolean;
  close(code: number, reason: string): void;
}

export interface EventStream {
  drained(): void;
  stop(): void;
}

/** A reader that may be slow: what it does not take at once is waited for, but not forever. */
function createPacer(clock: Clock, sink: EventSink) {
  let leaving = false;
  let drain: (() => void) | null = null;
  /** Whether the reader took what waited in time. */
  const emptied = async (): Promise<boolean> => {
    const taken = new Promise<true>((resolve) => {
      drain = () => resolve(true);
    });
    const ok = await endsWithin(clock, SLOW_READER_MS, taken);
    drain = null;
    return ok;
  };
  return {
    send: async (text: string): Promise<"taken" | "too late" | "left behind"> => {
      if (sink.send(text)) return "taken";
      if (leaving) return "left behind";
      return (await emptied()) ? "taken" : "too late";
    },
    drained: () => drain?.(),
    /** From now on nobody waits for the reader. */
    leave: () => {
      leaving = true;
      drain?.();
    },
  };
}

interface Out {
  pacer: ReturnType<typeof createPacer>;
  over: AbortSignal;
  close(code: number, reason: string): void;
}

/** Reads the events of a job from the store and sends them, up to the last one. */
function createEventReader(
  ctx: Pick<FleetContext, "db" | "clock">,
  job: JobRow,
  since: number,
  out: Out,
) {
  let last = since;
  let replayed = false;

  /** False when the stream is over. */
  const send = async (event: EventRow): Promise<boolean> => {
    last = event.seq;
    const sent = await out.pacer.send(JSON.stringify(eventRecord(event)));
    if (sent === "left behind") return false;
    if (sent === "too late") out.close(EVENT_CLOSE.too_slow, "reads too slowly");
    if (event.type !== "log") out.close(EVENT_CLOSE.done, event.type);
    return !out.over.aborted;
  };
  /** Whether there was anything to send. */
  const readOn = async (): Promise<boolean> => {
    const before = last;
    for (;;) {
      const page = await ctx.db.events.list(job.job_id, last, PAGE);
      for (const event of page) if (out.over.aborted || !(await send(event))) return true;
      if (page.length < PAGE) return last > before;
    }
  };
  /** A job that ended without its last event (the hub died between the two writes), or whose last one was seen. */
  const closeEnded = async (): Promise<void> => {
    const row = await ctx.db.jobs.get(job.job_id);
    if (out.over.aborted || (row && !isTerminal(row.status))) return;
    if (!row) return out.close(EVENT_CLOSE.done, "deleted");
    await readOn();
    if (out.over.aborted) return;
    const end = await missingEnd(ctx, row, last);
    if (end) return void (await send(end));
    // It was seen, or it has been stored since the last look.
    await readOn();
    out.close(EVENT_CLOSE.done, row.status === "failed" ? "error" : "done");
  };
  return async (): Promise<void> => {
    const news = await readOn();
    // A stream woken for nothing may follow a job that was deleted with its last event.
    if (!replayed || !news) await closeEnded();
    replayed = true;
  };
}

/**
 * Sends every event of a job with seq > since: the stored ones, then new ones as they are stored, without gap or double,
 * and closes with 1000 after the last (rules/events#end-of-the-stream). Events are read from the store in both cases and the
 * bus only wakes the reader, so a slow reader costs one message of memory.
 */
export function startEventStream(
  ctx: Pick<FleetContext, "bus" | "clock" | "cluster" | "db" | "links" | "log" | "streams">,
  job: JobRow,
  since: number,
  sink: EventSink,
): EventStream {
  const stopped = new AbortController();
  const pacer = createPacer(ctx.clock, sink);
  let reading = false;
  let again = false;
  let pumped: Promise<void> = Promise.resolve();

  const stop = () => {
    stopped.abort();
    unsubscribe();
    ctx.streams.delete(goAway);
    pacer.drained();
  };
  const close = (code: number, reason: string) => {
    if (stopped.signal.aborted) return;
    stop();
    sink.close(code, reason);
  };
  const sendNews = createEventReader(ctx, job, since, { pacer, over: stopped.signal, close });

  /** What is already stored is still sent, except to a slow reader. */
  const goAway = async () => {
    pacer.leave();
    await pumped;
    close(GOING_AWAY.code, GOING_AWAY.reason);
  };
  ctx.streams.add(goAway);

  const pump = async (): Promise<void> => {
    reading = true;
    try {
      do {
        again = false;
        await sendNews();
      } while (again && !stopped.signal.aborted);
    } catch (err) {
      ctx.log.error({ job_id: job.job_id, err }, "event stream failed");
      close(EVENT_CLOSE.internal, "events cannot be read");
    } finally {
      reading = false;
    }
  };
  const wake = () => {
    if (reading) again = true;
    else pumped = pump();
  };
  /** A job that runs at another hub: its messages may be lost. */
  const pollElsewhere = async () => {
    for (;;) {
      await ctx.clock.sleep(POLL_MS, stopped.signal);
      if (stopped.signal.aborted) return;
      if (ctx.cluster.peers.size === 0 || isHeldHere(ctx, job.job_id)) continue;
      wake();
    }
  };
  const unsubscribe = ctx.bus.subscribe(job.job_id, wake);
  wake();
  if (ctx.cluster.shared) void pollElsewhere();
  return { drained: pacer.drained, stop };
}
