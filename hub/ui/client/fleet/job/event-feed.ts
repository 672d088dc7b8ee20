import { FlotillaError } from "#shared/client/errors.ts";
import { pathOf } from "#shared/client/operation.ts";
import type { JobEvent } from "#shared/protocol/schema/job.ts";
import { call } from "../../lib/http.ts";

/** `live`: events are pushed; `polling`: they are fetched while the socket is retried; `ended`: no more will come. */
export type FeedState = "connecting" | "live" | "polling" | "ended";

interface Feed {
  job_id: string;
  signal: AbortSignal;
  onEvents(events: JobEvent[]): void;
  onState(state: FeedState): void;
}

/** Without the socket, events are fetched as often as everything else on the page. */
const WAIT_MS = { first: 1_000, most: 3_000 };
/** Lines of a busy job are drawn together. */
const GATHER_MS = 100;
/** Codes with which the server ends the stream for good (rules/events#end-of-the-stream). */
const OVER = new Set([1000, 4404]);

/** A router that holds the upgrade without an answer. */
const OPEN_MS = 5_000;

const sleep = (ms: number, signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end);
  });

/** One socket until it closes; answers its close code. */
function readSocket(
  job_id: string,
  since: number,
  signal: AbortSignal,
  opened: () => void,
  heard: (event: JobEvent) => void,
): Promise<number> {
  const { protocol, host } = location;
  const base = `${protocol === "https:" ? "wss" : "ws"}://${host}`;
  return new Promise((resolve) => {
    const socket = new WebSocket(
      base + pathOf("GET /jobs/{id}/events", { params: { id: job_id }, query: { since } }),
    );
    const close = () => socket.close();
    const late = setTimeout(close, OPEN_MS);
    signal.addEventListener("abort", close);
    socket.addEventListener("open", () => {
      clearTimeout(late);
      opened();
    });
    socket.addEventListener("message", ({ data }) => heard(JSON.parse(data)));
    socket.addEventListener("close", ({ code }) => {
      clearTimeout(late);
      signal.removeEventListener("abort", close);
      resolve(code);
    });
  });
}

/**
 * Every event of a job, once and in order, until its last (rules/events#event-stream): by WebSocket, and by plain calls whenever
 * that is closed or cannot be opened.
 */
export async function followEvents({ job_id, signal, onEvents, onState }: Feed): Promise<void> {
  let last = 0;
  let over = false;
  let wait = WAIT_MS.first;
  let gathered: JobEvent[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    if (gathered.length > 0 && !signal.aborted) onEvents(gathered);
    gathered = [];
  };
  const heard = (event: JobEvent) => {
    if (event.seq <= last) return;
    last = event.seq;
    over ||= event.type !== "log";
    gathered.push(event);
    timer ??= setTimeout(flush, GATHER_MS);
  };
  const opened = () => {
    wait = WAIT_MS.first;
    onState("live");
  };
  /** False when the job no longer exists. */
  const ask = async (): Promise<boolean> => {
    try {
      for (;;) {
        const query = { since: last, limit: 1_000 };
        const { events } = await call("GET /jobs/{id}/events.json", {
          params: { id: job_id },
          query,
          signal,
        });
        for (const event of events) heard(event);
        if (events.length < query.limit) return true;
      }
    } catch (err) {
      return !(err instanceof FlotillaError && err.status === 404);
    }
  };
  while (!signal.aborted && !over) {
    const code = await readSocket(job_id, last, signal, opened, heard);
    if (signal.aborted || over || OVER.has(code)) break;
    onState("polling");
    if (!(await ask()) || over) break;
    await sleep(wait, signal);
    wait = Math.min(WAIT_MS.most, wait * 2);
  }
  flush();
  if (!signal.aborted) onState("ended");
}
