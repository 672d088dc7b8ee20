import { refusalOf } from "#shared/client/errors.ts";
import type { Job } from "#shared/protocol/schema/job.ts";
import { call } from "../../lib/http.ts";

/** What the button says that runs the job again. */
export function runAgainWords({ mode, attempts }: Job): string {
  if (mode === "fetch" || attempts === 0) return "Run again";
  return mode === "rerun" ? "Run the script again" : "Run its script again";
}

/** Options with which the job is run again, without what the hub itself added. */
export function optionsAgain({ mode, options, job_id, attempts }: Job): Record<string, unknown> {
  const { fetch_recipe: _recipe, ...given } = options;
  if (mode === "fetch" || attempts === 0) return given;
  // The script that worked, or the last one (rules/scripts#rerun). Nobody judges it, so nothing is proved first.
  const script = { mode: "rerun", code: null, rerun_from: job_id };
  return { ...given, ...script, prove_in_replay: false, proof_capture: null };
}

export const optionsOfAttempt = (job: Job, n: number): Record<string, unknown> => ({
  ...optionsAgain(job),
  mode: "rerun",
  rerun_from: `${job.job_id}/attempts/${n}`,
});

/**
 * Submits a job with its labels and returns the new id, even when the fleet is full and the job waits.
 * @throws FlotillaError
 */
export async function submitAgain(
  { url, labels }: Job,
  options: Record<string, unknown>,
): Promise<string> {
  try {
    return (await call("POST /jobs", { json: { url, options, labels } })).job_id;
  } catch (err) {
    const waiting = refusalOf(err, "POST /jobs", 503)?.job_id;
    if (!waiting) throw err;
    return waiting;
  }
}
