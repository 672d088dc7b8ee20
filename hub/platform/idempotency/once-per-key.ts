import { AppError, conflict } from "#shared/kit/errors.ts";
import type { PlatformContext } from "../context.ts";
import type { IdempotencyRow } from "../db/rows.ts";
import type { Db } from "../db/storage.ts";
import { CALL_LEASE_MS } from "./running-calls.ts";

/** What keyed calls need from the process that answers them. */
export type KeyedContext = Pick<PlatformContext, "clock" | "running_calls"> & {
  readonly db: Pick<Db, "idempotency">;
};

export interface KeyedOptions {
  /** Brings a kept answer up to date; by default it stays as it is. */
  replay?: (answer: Answer) => Promise<Answer>;
}

export type Answer = NonNullable<IdempotencyRow["answer"]>;

/** Marks a key whose call has stored its job but not answered yet; a hub that dies at that point leaves it behind. */
export const STORED = 0;
/** How long the same call waits for one that another process answers, and how often it looks. */
const ELSEWHERE_MS = 20_000;
const LOOK_MS = 100;

/** What a key holds from the moment that its job is stored, so no later crash makes a second job. */
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
 * Runs `call` once per key (rules/http#idempotency-keys): the same key and request again gets the first answer, also
 * while the first still runs. Only answers that stored something are kept. The process that runs a call leases its key
 * for as long as the call runs, so a killed process holds up no one for longer than CALL_LEASE_MS.
 * @throws AppError conflict when the key was used with another request, or another process still runs the call.
 */
export async function oncePerKey(
  ctx: KeyedContext,
  key: string,
  fingerprint: string,
  call: () => Promise<Answer>,
  options: KeyedOptions = {},
): Promise<Answer> {
  const { clock, db, running_calls } = ctx;
  const { owner } = running_calls;
  const until = clock.monotonic() + ELSEWHERE_MS;
  for (;;) {
    const times = { now: clock.now(), monotonic: clock.monotonic(), lease_ms: CALL_LEASE_MS };
    const taken = await db.idempotency.begin({ key, fingerprint, owner, ...times });
    if (!taken) return runCall(ctx, key, call);
    if (taken.fingerprint !== fingerprint)
      throw conflict("this Idempotency-Key was used with another request");
    const running = running_calls.get(key);
    if (running !== undefined) {
      await running.catch(() => {});
      continue;
    }
    const { answer } = taken;
    const ended = !taken.leased || taken.owner === owner;
    if (answer && (answer.status !== STORED || ended)) return options.replay?.(answer) ?? answer;
    if (clock.monotonic() >= until) throw stillRunning();
    await clock.sleep(LOOK_MS);
  }
}

async function runCall(
  { db, running_calls }: KeyedContext,
  key: string,
  call: () => Promise<Answer>,
): Promise<Answer> {
  const { owner } = running_calls;
  const run = (async () => {
    let kept = false;
    try {
      const answer = await call();
      if (isKept(answer)) {
        await db.idempotency.complete(key, owner, answer);
        kept = true;
      }
      return answer;
    } finally {
      // What was stored with its job stays, because it has been the key's answer since then.
      if (!kept) await db.idempotency.abandon(key, owner).catch(() => {});
    }
  })();
  running_calls.add(key, run);
  return run;
}

export const jobIdOf = ({ body }: Answer): string | null => {
  const job_id = (body as { job_id?: unknown } | null)?.job_id;
  return typeof job_id === "string" ? job_id : null;
};

const isKept = (answer: Answer): boolean =>
  answer.status < 300 || (answer.status === 503 && jobIdOf(answer) !== null);
