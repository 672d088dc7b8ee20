import { FlotillaError } from "#shared/client/errors.ts";
import { followEvents } from "#shared/client/events.ts";
import type { Http } from "#shared/client/http.ts";
import type { Clock } from "#shared/kit/clock.ts";
import type { Job, JobEvent } from "#shared/protocol/schema/job.ts";

/** How long the hub may be away before following gives up. */
const PATIENCE_MS = 30_000;
const POLL_MS = 500;
const ASK_MS = 10_000;

const isTerminalStatus = (status: string): boolean =>
  status === "completed" || status === "failed" || status === "cancelled";

/** It restarts, or a router before it has no other. */
const mayComeBack = (err: unknown): boolean =>
  err instanceof FlotillaError && [0, 502, 503, 504].includes(err.status);

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
  for (let heard_at = clock.now(); !signal.aborted; await clock.sleep(POLL_MS, signal))
    try {
      for await (const event of followEvents(client, job_id, { since, signal })) {
        since = event.seq;
        onEvent(event);
      }
      if (signal.aborted) break;
      const job = await client.call("GET /jobs/{id}", {
        params: { id: job_id },
        timeout_ms: ASK_MS,
      });
      heard_at = clock.now();
      if (isTerminalStatus(job.status)) return job;
    } catch (err) {
      if (!mayComeBack(err) || clock.now() - heard_at > PATIENCE_MS) throw err;
    }
  return null;
}
