import type { ProxyOption } from "#shared/protocol/proxy.ts";
import type {
  Attempt,
  AttemptTimings,
  Proof,
  TokenUsage,
  Verdict,
} from "#shared/protocol/schema/attempt.ts";
import type { JobEvent } from "#shared/protocol/schema/job.ts";
import type { ColumnKit } from "../kit.pg.ts";
import type { JobIds } from "./jobs.ts";

/** What belongs to a job. Times epoch ms. */
export function defineJobPartTables(c: ColumnKit, jobs: JobIds) {
  /** Proxies with their logins, of jobs that have not ended: a job's record has `***` in their place. */
  const job_proxies = c.table("job_proxies", {
    job_id: c.str("job_id").primaryKey(),
    proxy: c.json<ProxyOption>("proxy").notNull(),
    created_at: c.time("created_at").notNull(),
  });

  /** Stored events of a job (rules/events#stored-events); log.txt is rendered from them. */
  const job_events = c.table(
    "job_events",
    {
      job_id: c
        .str("job_id")
        .notNull()
        .references(() => jobs.job_id, { onDelete: "cascade" }),
      seq: c.int("seq").notNull(),
      ts: c.time("ts").notNull(),
      type: c.str("type").$type<JobEvent["type"]>().notNull(),
      data: c.json<Record<string, unknown>>("data").notNull(),
    },
    (t) => [c.primaryKey({ columns: [t.job_id, t.seq] })],
  );

  /** Attempts of codegen-loop and rerun jobs (rules/scripts#attempts); `n` counts from 1 within the job. */
  const attempts = c.table(
    "attempts",
    {
      job_id: c
        .str("job_id")
        .notNull()
        .references(() => jobs.job_id, { onDelete: "cascade" }),
      n: c.int("n").notNull(),
      state: c.str("state").$type<Attempt["state"]>().notNull(),
      engine: c.str("engine"),
      prompt: c.str("prompt"),
      reply: c.str("reply"),
      script: c.str("script"),
      stdout: c.str("stdout").notNull(),
      stderr: c.str("stderr").notNull(),
      result: c.json<{ value: unknown }>("result"),
      error: c.json<NonNullable<Attempt["error"]>>("error"),
      exit_code: c.int("exit_code"),
      verdict: c.json<Verdict>("verdict"),
      timings: c.json<AttemptTimings>("timings").notNull(),
      tokens: c.json<TokenUsage>("tokens"),
      sandbox: c.str("sandbox").$type<NonNullable<Attempt["sandbox"]>>(),
      screenshot: c.str("screenshot"),
      evidence: c.json<Attempt["evidence"]>("evidence").notNull(),
      /** Null where the job does not ask for one. */
      proof: c.json<Proof>("proof"),
      started_at: c.time("started_at").notNull(),
      finished_at: c.time("finished_at"),
    },
    (t) => [c.primaryKey({ columns: [t.job_id, t.n] })],
  );

  return { job_proxies, job_events, attempts };
}
