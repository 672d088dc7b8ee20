import type { SessionActionName } from "#shared/protocol/actions/session-actions.ts";

/** One run of a script in its sandbox (rules/sandbox#one-sandbox-for-each-attempt). Times in ms. */
export interface ScriptRun {
  job_id: string;
  /** Counts from 1 within the job. */
  attempt: number;
  /** TypeScript with `import … from "flotilla"` (rules/scripts#script-module); at most 200 KB. */
  code: string;
  /** What the script reads of its job. */
  job: { url: string; goal: string | null };
  timeout_ms: number;
  /** Aborts when the job is cancelled or its lane is gone: the sandbox is ended with everything in it. */
  signal: AbortSignal;
  door: ScriptDoor;
}

/** What a script may do, and nothing else: the sandbox's only way out. Errors reach the script as exceptions. */
export interface ScriptDoor {
  /**
   * One action of this job's session; `args` are what the script sent.
   * @throws AppError as the HTTP action does.
   */
  act(action: SessionActionName, args: unknown, signal: AbortSignal): Promise<ScriptReply>;
  /** Stores an asset of the job under a name made safe and unique. @throws AppError invalid, too_large. */
  save(
    name: string,
    mime: string | null,
    body: Uint8Array,
  ): Promise<{ name: string; size: number }>;
  /** A line of the job's story. */
  log(level: "debug" | "info" | "warn" | "error", message: string, fields: object): Promise<void>;
}

export interface ScriptReply {
  result: unknown;
  url: string;
  title: string;
  ms: number;
}

/**
 * How a script ended. `ok`: exit 0. `error`: it threw or exited with another code. `timeout`: attempt_timeout_s are over.
 * `limit`: memory, processes or disk (`detail` says which). `cancelled`: its signal aborted. `broken`: the sandbox could not
 * be made.
 */
export type ScriptEnd = "ok" | "error" | "timeout" | "limit" | "cancelled" | "broken";

export interface ScriptOutcome {
  end: ScriptEnd;
  detail: string | null;
  exit_code: number | null;
  /** First and last 128 KB. */
  stdout: string;
  stderr: string;
  /** JSON value of the default export or the last awaited value; null when there is none. At most 1 MB. */
  result: unknown;
  /** What it threw; `line` counts from 1 in `code`. */
  error: { name: string; message: string; line: number | null; stack: string } | null;
  sandbox: "bubblewrap" | "process";
  /** Spawn to first action, and to the end; null when there was no action. */
  first_action_ms: number | null;
  run_ms: number;
  actions: number;
}

export interface ScriptProblem {
  /** Counts from 1; null when it is about the whole script. */
  line: number | null;
  message: string;
}
