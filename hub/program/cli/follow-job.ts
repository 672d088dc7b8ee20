import { followEvents } from "#shared/client/events.ts";
import type { Http } from "#shared/client/http.ts";
import type { Clock } from "#shared/kit/clock.ts";
import { isTerminal, type Job, type JobEvent } from "#shared/protocol/schema/job.ts";
import { pollUntil } from "./poll.ts";

const ASK_MS = 10_000;

/**
 * Follows a job to its end by its events (rules/events#event-stream), and asks for its record whenever they end. Waits for a
 * hub that restarts meanwhile.
 * @returns the terminal record, or null when `signal` aborted first.
 * @throws FlotillaError when the hub stays away for 30 s.
 */
export async function followJob(
  client: Http,
  job_id: string,
  onEvent: (event: JobEvent) => void,
  clock: Clock,
  signal: AbortSignal,
): Promise<Job | null> {
  let since = 0;
  let ended: Job | null = null;
  await pollUntil({ clock, signal }, async () => {
    for await (const event of followEvents(client, job_id, { since, signal })) {
      since = event.seq;
      onEvent(event);
    }
    if (signal.aborted) return false;
    const asked = { params: { id: job_id }, timeout_ms: ASK_MS };
    const job = await client.call("GET /jobs/{id}", asked);
    if (isTerminal(job.status)) ended = job;
    return ended !== null;
  });
  return ended;
}
