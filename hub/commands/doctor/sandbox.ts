import { findSandbox, SandboxError, type SandboxKind } from "../../runner/sandbox.ts";
import { type Check, ok, warn } from "./check.ts";

/** What scripts of jobs run in (modes codegen-loop and rerun); jobs that fetch need none of it. */
export async function checkSandbox(config: {
  sandbox: SandboxKind;
  data_dir: string;
}): Promise<Check> {
  const name = "script sandbox";
  const began = performance.now();
  try {
    await findSandbox(config.sandbox, config.data_dir);
  } catch (err) {
    if (!(err instanceof SandboxError)) throw err;
    return warn(name, err.found, err.advice);
  }
  if (config.sandbox === "process")
    return warn(
      name,
      "none: SVC_SANDBOX=process",
      "scripts may use the network and the files of this machine; unset it and apt-get install bubblewrap",
    );
  return ok(name, `bubblewrap works, ${Math.round(performance.now() - began)} ms`);
}
