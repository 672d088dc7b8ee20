import type { Job } from "#shared/protocol/schema/job.ts";
import { ApiError, call } from "../../lib/http.ts";

/** Options with which the job is run again, without what the hub itself added. */
export function optionsAgain({ mode, options, job_id, attempts }: Job): Record<string, unknown> {
  const { fetch_recipe: _recipe, ...given } = options;
  if (mode === "fetch" || attempts === 0) return given;
  // The script that worked, or the last one (rules/scripts#rerun).
  return { ...given, mode: "rerun", code: null, rerun_from: job_id };
}

export const optionsOfAttempt = (job: Job, n: number): Record<string, unknown> => ({
  ...optionsAgain(job),
  mode: "rerun",
  rerun_from: `${job.job_id}/attempts/${n}`,
});

const jobIdOf = (body: unknown): string | null => {
  const id = (body as { job_id?: unknown } | null)?.job_id;
  return typeof id === "string" ? id : null;
};

/** Submits the job and returns its id, even when the fleet is full and the job waits. @throws ApiError */
export async function submitAgain(url: string, options: Record<string, unknown>): Promise<string> {
  try {
    return (await call<Job>("POST", "/jobs", { json: { url, options } })).job_id;
  } catch (err) {
    const waiting = err instanceof ApiError && err.status === 503 ? jobIdOf(err.body) : null;
    if (waiting === null) throw err;
    return waiting;
  }
}
