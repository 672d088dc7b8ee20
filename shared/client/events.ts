import { systemClock, withDeadline } from "#shared/kit/clock.ts";
import { backoffMs } from "./again.ts";
import type { JobEvent } from "./client-types.ts";
import { FlotillaError } from "./errors.ts";
import { canOpenSockets, type Http } from "./http.ts";

export interface EventOptions {
  /** The last `seq` already seen; 0 starts with the first event. */
  since?: number;
  signal?: AbortSignal;
  /** How long the hub may be away before the stream fails; default 30,000. */
  patience_ms?: number;
}

const OPEN_MS = 10_000;
const PATIENCE_MS = 30_000;
/** A stream that is silent for this long is reopened: a cut cable closes no socket. */
const SILENCE_MS = 30_000;
const DONE = 1000;
const UNKNOWN_JOB = 4404;

interface Stream {
  /** The next event; null when the socket is closed and everything was read. */
  next(): Promise<JobEvent | null>;
  /** How it was closed, once it is closed. */
  code(): number | null;
  close(): void;
}

async function openStream(
  url: string,
  { socket: options }: Pick<Http, "socket">,
  signal: AbortSignal | undefined,
): Promise<Stream> {
  const socket = new WebSocket(url, options as unknown as string[]);
  const events: JobEvent[] = [];
  let code: number | null = null;
  let wake = Promise.withResolvers<void>();
  let silence = setTimeout(() => socket.close(), SILENCE_MS);
  const opened = new Promise<void>((resolve, reject) => {
    socket.onopen = () => resolve();
    socket.onclose = (event) => {
      clearTimeout(silence);
      code = event.code;
      wake.resolve();
      reject(new FlotillaError(`the event stream was not opened (${event.code})`, {}));
    };
  });
  socket.onerror = () => {};
  socket.onmessage = ({ data }) => {
    clearTimeout(silence);
    silence = setTimeout(() => socket.close(), SILENCE_MS);
    events.push(JSON.parse(String(data)) as JobEvent);
    wake.resolve();
  };
  const close = () => {
    clearTimeout(silence);
    signal?.removeEventListener("abort", close);
    socket.close();
  };
  signal?.addEventListener("abort", close, { once: true });
  await withDeadline("opening the event stream", OPEN_MS, opened).catch((err) => {
    close();
    // The hub reports an unknown job by the close code, whether or not the socket was opened first.
    if (code !== UNKNOWN_JOB) throw err;
  });
  return {
    next: async () => {
      while (events.length === 0 && code === null) {
        await wake.promise;
        wake = Promise.withResolvers();
      }
      return events.shift() ?? null;
    },
    code: () => code,
    close,
  };
}

/** How often a runtime without such sockets polls. */
const POLL_MS = 500;

/** The same with plain calls, a page of events at a time. */
async function* pollEvents(
  http: Http,
  job_id: string,
  { since = 0, signal, patience_ms = PATIENCE_MS }: EventOptions,
): AsyncGenerator<JobEvent, void, void> {
  let heard_at = systemClock.now();
  for (let failures = 0; !signal?.aborted; ) {
    const of_job = { params: { id: job_id }, query: { since } };
    try {
      const { events } = await http.call("GET /jobs/{id}/events.json", { ...of_job, signal });
      failures = 0;
      heard_at = systemClock.now();
      for (const event of events) {
        since = event.seq;
        yield event;
        if (event.type !== "log") return;
      }
      if (events.length > 0) continue;
    } catch (err) {
      if (signal?.aborted) return;
      const may_pass = err instanceof FlotillaError && [0, 502, 503, 504].includes(err.status);
      if (!may_pass || systemClock.now() - heard_at > patience_ms) throw err;
      failures += 1;
    }
    await systemClock.sleep(failures === 0 ? POLL_MS : backoffMs(failures, null), signal);
  }
}

/**
 * The events of a job in order, without gaps or duplicates, up to its `done` or `error` (rules/events#event-stream). A
 * broken stream resumes where it stopped. Ends early, without an error, when `signal` aborts.
 * @throws FlotillaError with status 404 for an unknown job, or when the hub stays away for `patience_ms`.
 */
export async function* followEvents(
  http: Http,
  job_id: string,
  options: EventOptions = {},
): AsyncGenerator<JobEvent, void, void> {
  if (!canOpenSockets()) return yield* pollEvents(http, job_id, options);
  const { signal, patience_ms = PATIENCE_MS } = options;
  let since = options.since ?? 0;
  let heard_at = systemClock.now();
  for (let tries = 0; !signal?.aborted; tries += 1) {
    const of_job = { params: { id: job_id }, query: { since } };
    let stream: Stream | null = null;
    try {
      stream = await openStream(http.socketUrl("GET /jobs/{id}/events", of_job), http, signal);
      heard_at = systemClock.now();
      for (let event = await stream.next(); event; event = await stream.next()) {
        tries = 0;
        heard_at = systemClock.now();
        since = event.seq;
        yield event;
        if (event.type !== "log") return;
      }
      if (stream.code() === DONE) return;
      if (stream.code() === UNKNOWN_JOB)
        throw new FlotillaError("job not found", {
          status: 404,
          body: { detail: "job not found" },
        });
    } catch (err) {
      if (err instanceof FlotillaError && err.status !== 0) throw err;
      if (signal?.aborted) return;
      if (systemClock.now() - heard_at > patience_ms) throw err;
    } finally {
      stream?.close();
    }
    await systemClock.sleep(backoffMs(tries, null), signal);
  }
}
