import { refusalOf } from "#shared/client/errors.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Job } from "#shared/protocol/schema/job.ts";
import { followJob } from "../follow-job.ts";
import { unlessGone } from "../hub-client.ts";
import { CLEAN_MS, type Part, sideBySide, timed } from "./part.ts";
import { type Measured, measured, rate } from "./stats.ts";

interface JobsAsked {
  count: number;
  at_once: number;
  url: string;
  options: Record<string, unknown>;
  keep: boolean;
}

/**
 * Whether a lane was free at once or not: it is the fleet's time in any case. It is answered also after Ctrl-C, because only
 * a job whose id is known can be removed.
 */
async function submit({ client }: Part, { url, options }: JobsAsked): Promise<string> {
  const json = { url, options, labels: { made_by: "flotilla-bench" } };
  try {
    return (await client.call("POST /jobs", { json })).job_id;
  } catch (err) {
    const queued = refusalOf(err, "POST /jobs", 503)?.job_id;
    if (!queued) throw err;
    return queued;
  }
}

/** Those that run are cancelled by it. */
async function remove({ client }: Part, ids: readonly string[]): Promise<void> {
  for (const id of ids)
    await client
      .call("DELETE /jobs/{id}", { params: { id }, timeout_ms: CLEAN_MS })
      .catch(unlessGone);
}

const between = (from: string, to: string | null): number[] =>
  to === null ? [] : [Date.parse(to) - Date.parse(from)];

/** Jobs from their submission to their end, as a caller waits for them; and what of it was waiting and running. */
export async function benchJobs(part: Part, asked: JobsAsked): Promise<Measured[]> {
  const { client, clock, signal, progress } = part;
  const ids: string[] = [];
  const times: number[] = [];
  const ended: Job[] = [];
  let error: string | null = null;
  let failed = 0;
  const one = async (n: number): Promise<void> => {
    progress.step("jobs", `${n} of ${asked.count}`);
    try {
      const [job, ms] = await timed(clock, async () => {
        const id = await submit(part, asked);
        ids.push(id);
        return followJob(client, id, () => {}, clock, signal);
      });
      // Its time was over.
      if (job === null) return;
      if (job.status !== "completed") throw new Error(job.error ?? job.status);
      times.push(ms);
      ended.push(job);
    } catch (err) {
      if (signal.aborted) return;
      failed += 1;
      error ??= errorMessage(err);
    }
  };
  try {
    const [, all_ms] = await timed(clock, () =>
      sideBySide(asked.count, asked.at_once, signal, one),
    );
    const ran = ended.flatMap(({ duration_ms }) => (duration_ms === null ? [] : [duration_ms]));
    const waited = ended.flatMap((job) => between(job.created_at, job.started_at));
    return [
      measured("job, submitted to ended", times, {
        failed,
        error,
        per_s: rate(times.length, all_ms),
      }),
      measured("  waiting for a lane", waited),
      measured("  running", ran),
    ];
  } finally {
    if (!asked.keep) await remove(part, ids);
  }
}
