import { AppError, conflict } from "#shared/errors.ts";
import type { HubContext } from "../context.ts";
import type { IdempotencyRow } from "../db/types.ts";
import { recordOf } from "./read.ts";

/** What keyed calls need of the process that answers them. */
export type KeyedContext = Pick<HubContext, "clock" | "running_calls"> & {
  readonly config: Pick<HubContext["config"], "redis_url">;
  readonly cluster?: Pick<HubContext["cluster"], "shared">;
  readonly db: Pick<HubContext["db"], "idempotency">;
};

export interface KeyedOptions {
  /** A 503 of this call has stored nothing: it may be tried again with the same key at once. */
  forget_503?: boolean;
  /** What a kept answer is by now; itself unless given. */
  replay?: (answer: Answer) => Promise<Answer>;
}

export type Answer = NonNullable<IdempotencyRow["answer"]>;

/** Marks a key whose call has stored its job and not answered yet; a hub that died there left this behind. */
const STORED = 0;
/** How long the same call waits for one that another process answers, and how often it looks. */
const ELSEWHERE_MS = 20_000;
const LOOK_MS = 100;
/** A call that has stored nothing after so long is dead. */
const DEAD_CALL_MS = 120_000;

/** What a key holds from the moment its job is stored, so that no crash afterwards makes a second one. */
export const madeJob = (job_id: string): Answer => ({
  status: STORED,
  body: { job_id },
  headers: {},
});

export const stillRunning = (): AppError =>
  new AppError("conflict", "a call with this Idempotency-Key is still running", {
    headers: { "Retry-After": "1" },
  });

/**
 * Runs `call` once per key (design/api.md): the same key and request again gets the first answer, also while the first
 * still runs. Only answers that stored something are kept.
 * @throws AppError conflict when the key was used with another request.
 */
export async function oncePerKey(
  ctx: KeyedContext,
  key: string,
  fingerprint: string,
  call: () => Promise<Answer>,
  options: KeyedOptions = {},
): Promise<Answer> {
  const now = ctx.clock.now();
  const taken = await ctx.db.idempotency.begin(key, fingerprint, now);
  if (!taken) return runCall(ctx, key, now, call, options.forget_503 ?? false);
  if (taken.fingerprint !== fingerprint)
    throw conflict("this Idempotency-Key was used with another request");
  const running = ctx.running_calls.get(key);
  if (running !== undefined) {
    await running.catch(() => {});
    return oncePerKey(ctx, key, fingerprint, call, options);
  }
  if (mayRunElsewhere(ctx, taken)) {
    await ctx.clock.sleep(LOOK_MS);
    return oncePerKey(ctx, key, fingerprint, call, options);
  }
  if (taken.answer) return options.replay?.(taken.answer) ?? taken.answer;
  if (now - taken.created_at < DEAD_CALL_MS) throw stillRunning();
  await ctx.db.idempotency.abandon(key, taken.created_at);
  return oncePerKey(ctx, key, fingerprint, call, options);
}

/** Whether another process may be answering the first call: one that died there is not waited for for long. */
const mayRunElsewhere = (ctx: KeyedContext, { answer, created_at }: IdempotencyRow): boolean =>
  (ctx.config.redis_url !== null || ctx.cluster?.shared === true) &&
  (answer === null || answer.status === STORED) &&
  ctx.clock.now() - created_at < ELSEWHERE_MS;

async function runCall(
  ctx: KeyedContext,
  key: string,
  created_at: number,
  call: () => Promise<Answer>,
  forget_503: boolean,
): Promise<Answer> {
  const run = (async () => {
    const answer = await call();
    if (isKept(answer)) await ctx.db.idempotency.complete(key, answer);
    // After a 5xx nobody knows what was stored: the key stays with what was stored with its job, or until it counts as dead.
    else if (answer.status < 500 || (forget_503 && answer.status === 503))
      await ctx.db.idempotency.abandon(key, created_at);
    return answer;
  })();
  ctx.running_calls.set(key, run);
  try {
    return await run;
  } finally {
    ctx.running_calls.delete(key);
  }
}

const jobIdOf = ({ body }: Answer): string | null => {
  const job_id = (body as { job_id?: unknown } | null)?.job_id;
  return typeof job_id === "string" ? job_id : null;
};

const isKept = (answer: Answer): boolean =>
  answer.status < 300 || (answer.status === 503 && jobIdOf(answer) !== null);

/** The first answer; but who retries after "fleet at capacity" is told of the job that has got a lane since. */
export async function replayJob(ctx: HubContext, answer: Answer): Promise<Answer> {
  const job_id = jobIdOf(answer);
  if ((answer.status !== 503 && answer.status !== STORED) || job_id === null) return answer;
  const job = await ctx.db.jobs.get(job_id);
  if (!job || (job.status === "queued" && answer.status === 503))
    return answer.status === STORED
      ? { status: 404, body: { detail: "job not found" }, headers: {} }
      : answer;
  return { status: 200, body: await recordOf(ctx, job), headers: {} };
}
