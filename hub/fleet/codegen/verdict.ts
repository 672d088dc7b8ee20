import { ChatError } from "#shared/llm/chat-message.ts";
import type { AttemptClass, Verdict } from "#shared/protocol/schema/attempt.ts";
import type { ScriptOutcome } from "../runner/script-run.ts";

/** A verdict that needs no engine. */
export const byRules = (
  cls: AttemptClass,
  reason: string,
  advice: string | null = null,
): Verdict => ({
  class: cls,
  ok: cls === "success",
  reason,
  advice,
  by: "rules",
  engine: null,
});

/** Only these are worth another script: the others would fail again whatever the planner wrote. */
export const isWorthAnother = (cls: AttemptClass): boolean =>
  cls === "bad_script" || cls === "script_error" || cls === "wrong_result";

/** What the backend's failure comes to: one that may pass later, or one that will not. */
export function chatVerdict(err: unknown): Verdict | null {
  if (!(err instanceof ChatError)) return null;
  if (err.kind === "cancelled") return byRules("cancelled", err.message);
  const later = err.kind === "rate_limited" || err.kind === "timeout";
  return byRules(later ? "capacity" : "engine_error", err.message);
}

/** The verdict from the end of the script alone; null when a closer look is needed: it ended well, or it threw. */
export function endVerdict(outcome: ScriptOutcome, timeout_s: number): Verdict | null {
  switch (outcome.end) {
    case "timeout":
      return byRules("timeout", `the script did not end within ${timeout_s} s (attempt_timeout_s)`);
    case "limit":
      return byRules("sandbox", `the sandbox ended the script: ${outcome.detail ?? "a limit"}`);
    case "broken":
      return byRules("sandbox", `the sandbox could not be made: ${outcome.detail ?? "unknown"}`);
    case "cancelled":
      return byRules("cancelled", "the job was cancelled while its script ran");
    case "ok":
    case "error":
      return null;
    default:
      return outcome.end satisfies never;
  }
}

/** What the script failed with, in one sentence. */
export function failureOf({ error, exit_code, detail }: ScriptOutcome): string {
  if (!error) return `the script ended with exit code ${exit_code}${detail ? `: ${detail}` : ""}`;
  const at = error.line === null ? "" : ` in line ${error.line}`;
  return `${error.name}${at}: ${error.message}`.slice(0, 1_000);
}
