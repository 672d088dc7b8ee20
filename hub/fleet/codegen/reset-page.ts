import { runExtras } from "../jobs/extras.ts";
import { hostForJob } from "../registries/hosts.ts";
import { callPage, type ScriptedJob, say } from "./job.ts";

/** Opening the page again: as long as a job's own first navigation may take by default. */
const RESET_MS = 60_000;

/** The next script begins where the first one did (rules/scripts#page-for-each-attempt), in the same browser. */
export async function resetPage(job: ScriptedJob): Promise<void> {
  const { ctx, row } = job;
  const { use_profile, attach_to_job, clone_chrome_profile } = row.options;
  const { cookies, profile } = await runExtras(ctx, row, await hostForJob(ctx, row.host));
  const own = [use_profile, attach_to_job, clone_chrome_profile].every((name) => name === null);
  const fresh = own && profile === null;
  await say(job, "info", "plan", "opening the page again for the next attempt", { fresh });
  await callPage(job, "run_reset", { url: row.url, fresh, cookies }, RESET_MS);
  job.page.mute = false;
}
