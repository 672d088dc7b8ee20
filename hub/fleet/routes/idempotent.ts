import type { MiddlewareHandler } from "hono";
import type { HttpEnv } from "#hub/platform/http/env.ts";
import { keyedCall } from "#hub/platform/idempotency/keyed-call.ts";
import { type Answer, jobIdOf, STORED } from "#hub/platform/idempotency/once-per-key.ts";
import type { FleetContext } from "../context.ts";
import type { JobReadContext } from "../jobs/job-contexts.ts";
import { recordOf } from "../jobs/read-jobs.ts";

/** What answers a repeated call as the first one was; a job is told as it is now. */
export type IdempotentContext = JobReadContext & Pick<FleetContext, "running_calls">;

/**
 * Calls that change something may carry Idempotency-Key: same key and body, same answer; another body, 409
 * (rules/http#idempotency-keys).
 */
export const idempotent = (ctx: IdempotentContext): MiddlewareHandler<HttpEnv> =>
  keyedCall(ctx, { replay: (answer) => replayJob(ctx, answer) });

/** The first answer; but a retry after "fleet at capacity" gets the job if it has got a lane since. */
async function replayJob(ctx: JobReadContext, answer: Answer): Promise<Answer> {
  const job_id = jobIdOf(answer);
  if ((answer.status !== 503 && answer.status !== STORED) || job_id === null) return answer;
  const job = await ctx.db.jobs.get(job_id);
  if (!job || (job.status === "queued" && answer.status === 503))
    return answer.status === STORED
      ? { status: 404, body: { detail: "job not found" }, headers: {} }
      : answer;
  return { status: 200, body: await recordOf(ctx, job), headers: {} };
}
