import { GROUP_MEMORY } from "./cgroup.ts";
import type { ScriptSaid } from "./door.ts";
import type { ScriptEnd } from "./script-run.ts";

/** Why the hub ended a run. */
export interface Stopped {
  end: ScriptEnd;
  detail: string | null;
}

/** A shell's way to say that a program was killed: 128 and the number of the signal. */
const KILLED = 137;
const FILE_TOO_LARGE = 153;
const CPU_USED_UP = 152;

const RAN_OUT = `the script used more than ${GROUP_MEMORY / 1024 ** 2} MB of memory`;

/** How a run ended, from what is known when its process is gone. */
export function endOf(known: {
  stopped: Stopped | null;
  said: ScriptSaid | null;
  code: number | null;
  connected: boolean;
  stderr: string;
  /** The kernel ended it by the bound of its group. */
  ran_out: boolean;
}): Stopped {
  const { stopped, said, code, connected, stderr, ran_out } = known;
  // A script that had ended by itself was not late.
  if (stopped && !(stopped.end === "timeout" && said)) return stopped;
  if (said) return { end: "error" in said ? "error" : "ok", detail: null };
  if (ran_out) return { end: "limit", detail: RAN_OUT };
  const made = /^(bwrap|setpriv|prlimit|nice): .*/m.exec(stderr);
  if (!connected && made) return { end: "broken", detail: `the sandbox: ${made[0]}` };
  if (code === 0) return { end: "ok", detail: null };
  if (code === null || code === KILLED)
    return { end: "limit", detail: "killed by the system, which may be out of memory" };
  if (code === CPU_USED_UP)
    return { end: "limit", detail: "the script used more processor time than it may run for" };
  if (code === FILE_TOO_LARGE) return { end: "limit", detail: "the script wrote too large a file" };
  return { end: "error", detail: `the script exited with code ${code}` };
}
