import type { ScriptOutcome } from "#hub/fleet/runner/script-run.ts";

/** A script that ran to its end, printed nothing and returned nothing. */
export const RAN_WELL: ScriptOutcome = {
  end: "ok",
  detail: null,
  exit_code: 0,
  stdout: "",
  stderr: "",
  result: null,
  error: null,
  sandbox: "bubblewrap",
  first_action_ms: 1,
  run_ms: 2,
  actions: 1,
};
