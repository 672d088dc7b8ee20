import { runScript } from "#hub/fleet/runner/run-script.ts";
import {
  closeSandboxes,
  findSandbox,
  lacksNamespaces,
  type SandboxConfig,
  SandboxError,
} from "#hub/fleet/runner/sandbox.ts";
import type { ScriptDoor, ScriptOutcome } from "#hub/fleet/runner/script-run.ts";
import { systemClock } from "#shared/kit/clock.ts";
import { AppError } from "#shared/kit/errors.ts";
import { silentLog } from "#shared/kit/log.ts";
import { type Check, fail, ok, warn } from "./check.ts";
import { adviceOnNamespaces } from "./namespaces.ts";

const refuse = async () => {
  throw new AppError("forbidden", "the doctor has no session");
};
const CLOSED: ScriptDoor = { act: refuse, save: refuse, log: async () => {} };
const SCRIPT_MS = 15_000;
const SCRIPT = "const product: number = await Promise.resolve(6 * 7);";

/** A script that needs no browser. */
const tryScript = (config: SandboxConfig): Promise<ScriptOutcome> =>
  runScript(
    { clock: systemClock, log: silentLog, config },
    {
      job_id: "doctor",
      attempt: 1,
      code: SCRIPT,
      timeout_ms: SCRIPT_MS,
      door: CLOSED,
      job: { url: "about:blank", goal: null },
      signal: new AbortController().signal,
    },
  );

/** What jobs' scripts run in (modes codegen-loop and rerun); fetch jobs do not need it. */
export async function checkSandbox(config: SandboxConfig, namespaces: Check): Promise<Check> {
  try {
    return await tryOut(config, namespaces);
  } finally {
    closeSandboxes(config.data_dir);
  }
}

async function tryOut(config: SandboxConfig, namespaces: Check): Promise<Check> {
  const name = "script sandbox";
  try {
    await findSandbox(config);
  } catch (err) {
    if (!(err instanceof SandboxError)) throw err;
    const advice = lacksNamespaces(err.found)
      ? adviceOnNamespaces(namespaces, "bubblewrap")
      : err.advice;
    return warn(name, err.found, advice);
  }
  const { end, detail, result, run_ms, stderr } = await tryScript(config);
  if (end !== "ok" || result !== 42) {
    const words = detail ?? stderr.trim().split("\n")[0];
    return fail(name, `a script ended as ${end}: ${words}`, "report this line");
  }
  if (config.sandbox === "process")
    return warn(
      name,
      "none: SVC_SANDBOX=process",
      "scripts can use this machine's network and files; unset it and run apt-get install bubblewrap",
    );
  return ok(name, `bubblewrap; a script took ${run_ms} ms`);
}
