import { type Clock, withDeadline } from "#shared/kit/clock.ts";
import type { Job, JobEvent } from "#shared/protocol/schema/job.ts";
import { openHubSocket } from "#shared/protocol/trust.ts";
import { describeError, type HubClient, HubUnreachable } from "./hub-client.ts";

/** How long the hub may be away before following gives up. */
const PATIENCE_MS = 30_000;
const POLL_MS = 500;
/** A stream that is silent for this long is reopened: a cut cable closes no socket. */
const SILENCE_MS = 30_000;

const isTerminalStatus = (status: string): boolean =>
  status === "completed" || status === "failed" || status === "cancelled";

/** The record of a job. @throws Error with the hub's words when there is none. */
async function getJob(client: HubClient, job_id: string): Promise<Job> {
  const answer = await client.call("GET", `/jobs/${job_id}`, undefined, 10_000);
  if (answer.status !== 200) throw new Error(describeError(answer));
  return answer.body as Job;
}

/** Reads events from `since` until the socket closes; the seq of the last one. */
async function readEvents(
  client: HubClient,
  job_id: string,
  since: number,
  onEvent: (event: JobEvent) => void,
  signal: AbortSignal,
): Promise<number> {
  const path = `/jobs/${job_id}/events?since=${since}`;
  const socket = openHubSocket(client.socketUrl(path), client.headers);
  const close = () => socket.close();
  signal.addEventListener("abort", close, { once: true });
  let last = since;
  let silence = setTimeout(close, SILENCE_MS);
  let opened: () => void = () => {};
  const open = new Promise<void>((resolve) => {
    opened = resolve;
  });
  const closed = new Promise<void>((resolve) => {
    socket.onopen = () => opened();
    socket.onclose = () => {
      opened();
      resolve();
    };
    socket.onerror = () => {};
    socket.onmessage = (message) => {
      clearTimeout(silence);
      silence = setTimeout(close, SILENCE_MS);
      const event = JSON.parse(String(message.data)) as JobEvent;
      last = Math.max(last, event.seq);
      onEvent(event);
    };
  });
  try {
    await withDeadline("event stream", 10_000, open);
    await closed;
  } finally {
    clearTimeout(silence);
    signal.removeEventListener("abort", close);
    socket.close();
  }
  return last;
}

/**
 * Follows a job to its end over WS /jobs/{id}/events (rules/events#event-stream), asking for its record whenever the stream
 * breaks. Waits for a hub that restarts meanwhile.
 * @returns the terminal record, or null when `signal` aborted first.
 * @throws HubUnreachable when the hub stays away for 30 s.
 */
export async function followJob(
  client: HubClient,
  job_id: string,
  onEvent: (event: JobEvent) => void,
  clock: Clock,
  signal: AbortSignal,
): Promise<Job | null> {
  let since = 0;
  let lastAnswer = clock.now();
  while (!signal.aborted) {
    since = await readEvents(client, job_id, since, onEvent, signal).catch(() => since);
    if (signal.aborted) break;
    try {
      const job = await getJob(client, job_id);
      lastAnswer = clock.now();
      if (isTerminalStatus(job.status)) return job;
    } catch (err) {
      if (!(err instanceof HubUnreachable)) throw err;
      if (clock.now() - lastAnswer > PATIENCE_MS) throw err;
    }
    await clock.sleep(POLL_MS, signal);
  }
  return null;
}
