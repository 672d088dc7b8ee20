import { z } from "@hono/zod-openapi";

/**
 * Outcome of an attempt. Only `script_error`, `wrong_result` and `bad_script` are worth another script; the others
 * would fail again whatever the planner wrote (rules/scripts#classes-of-an-attempt).
 * - `success`: it ran and the judge agrees, or no judge was asked (rerun)
 * - `bad_script`: refused by the static check, nothing ran
 * - `script_error`: it threw, or a selector was not found
 * - `wrong_result`: it ran, and the judge says that the goal was not reached
 * - `unverified`: it ran, and the judge could not say: never reported as a success
 * - `timeout`: longer than attempt_timeout_s
 * - `credentials_missing`: the page requires a login that was not given
 * - `capacity`: no lane, no runner, or no backend in time
 * - `engine_error`: the backend failed for good
 * - `lane_lost`: the browser or its worker went away
 * - `sandbox`: the sandbox could not be created, or stopped the script at a limit
 * - `cancelled`
 */
export const ATTEMPT_CLASSES = [
  "success",
  "bad_script",
  "script_error",
  "wrong_result",
  "unverified",
  "timeout",
  "credentials_missing",
  "capacity",
  "engine_error",
  "lane_lost",
  "sandbox",
  "cancelled",
] as const;
export const AttemptClass = z.enum(ATTEMPT_CLASSES);
export type AttemptClass = z.infer<typeof AttemptClass>;

export const TokenUsage = z.object({ prompt_tokens: z.int(), completion_tokens: z.int() });
export type TokenUsage = z.infer<typeof TokenUsage>;

/** The verdict of the judge, or of the rules before it, about an attempt. */
export const Verdict = z.object({
  class: AttemptClass,
  ok: z.boolean(),
  reason: z.string(),
  /** What the next script should do differently; from the judge. */
  advice: z.string().nullable(),
  /** `rules`: decided without an LLM. */
  by: z.enum(["rules", "judge"]),
  engine: z.string().nullable(),
});
export type Verdict = z.infer<typeof Verdict>;

/** Milliseconds; null for what did not happen. */
export const AttemptTimings = z.object({
  plan_ms: z.int().nullable(),
  check_ms: z.int().nullable(),
  /** Spawn of the sandbox to the script's first action. */
  first_action_ms: z.int().nullable(),
  run_ms: z.int().nullable(),
  judge_ms: z.int().nullable(),
});
export type AttemptTimings = z.infer<typeof AttemptTimings>;

/** How a script did in a replay, before it was let onto the site (rules/scripts#proof-in-replay). */
export const Proof = z.object({
  job_id: z.string().meta({ description: "The job whose capture answered" }),
  session_id: z.string().meta({ description: "The session of the replay, with its recording" }),
  ok: z.boolean().nullable().meta({
    description: "true: proved in replay, then run on the site; null: it has not ended yet",
  }),
  reason: z.string().nullable(),
  run_ms: z.int().nullable(),
  answered: z.int().meta({ description: "Requests that the capture answered" }),
  missed_count: z.int().meta({ description: "Requests that it could not answer" }),
});
export type Proof = z.infer<typeof Proof>;

/** One attempt of a codegen-loop or rerun job without its long texts (GET /jobs/{id}/attempts). `n` counts from 1. */
export const AttemptSummary = z
  .object({
    job_id: z.string(),
    n: z.int(),
    state: z.enum(["running", "ended"]),
    engine: z.string().nullable(),
    exit_code: z.int().nullable(),
    verdict: Verdict.nullable(),
    timings: AttemptTimings,
    tokens: TokenUsage.nullable(),
    /** How the script was confined: `bubblewrap`, or `process` if the operator allows it. */
    sandbox: z.enum(["bubblewrap", "process"]).nullable(),
    /** Absent in what earlier versions of the hub answer. */
    ran_in: z.enum(["site", "replay"]).nullable().optional().meta({
      description: "Where the run took place that this attempt tells of; null: nothing ran",
    }),
    proof: Proof.nullable().optional().meta({
      description: "How it did in the replay before; null: the job did not ask for that",
    }),
    started_at: z.string(),
    finished_at: z.string().nullable(),
  })
  .openapi("AttemptSummary");
export type AttemptSummary = z.infer<typeof AttemptSummary>;
export const AttemptList = z.object({ attempts: z.array(AttemptSummary) }).openapi("AttemptList");

/** The whole attempt (GET /jobs/{id}/attempts/{n}). Streams keep their first and last 128 KB. */
export const Attempt = AttemptSummary.extend({
  prompt: z.string().nullable(),
  reply: z.string().nullable(),
  script: z.string().nullable(),
  stdout: z.string(),
  stderr: z.string(),
  /** JSON value of the script's default export; null when there is none. */
  result: z.unknown(),
  error: z
    .object({ name: z.string(), message: z.string(), line: z.int().nullable(), stack: z.string() })
    .nullable(),
  /** Name of the asset with the screenshot of the page at the end. */
  screenshot: z.string().nullable(),
  evidence: z.object({
    url: z.string().nullable(),
    title: z.string().nullable(),
    /** Last requests of the session: method, url, status. */
    network: z.array(z.object({ method: z.string(), url: z.string(), status: z.int().nullable() })),
  }),
}).openapi("Attempt");
export type Attempt = z.infer<typeof Attempt>;
