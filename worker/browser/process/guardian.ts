import { spawn } from "node:child_process";
import { once } from "node:events";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import { LANE_TAG, TAG_SWITCH } from "./proc.ts";

/** Ends everything that carries a tag when this process is gone, however it went. */
export interface Guardian {
  pid: number | undefined;
  /** Lets it end. What carries the tag must be gone by then. Idempotent. */
  close(): Promise<void>;
}

/** Between a start and the next one, twice as long each time for one that does not live: a shell may not run here at all. */
const RESTART_MS = 1_000;
const MAX_RESTART_MS = 60_000;

/**
 * Waits for the end of its input, which the kernel brings when the worker dies, and kills by tag: groups first, because
 * what leads one has its helpers in it, and Chromium's helpers show no tag. Three times, because what was just being
 * started is not there at once. The pattern goes through a pipe, or grep would find itself.
 */
const SCRIPT = `
while read -r _; do :; done
for pass in 1 2 3; do
  for file in $(printf '%s\\n%s\\n' "${TAG_SWITCH.slice(2)}$1" "${LANE_TAG}=$1" |
    grep -lsaF -f - /proc/[0-9]*/cmdline /proc/[0-9]*/environ); do
    pid=\${file#/proc/}
    pid=\${pid%%/*}
    kill -s KILL -- "-$pid" 2>/dev/null
    kill -s KILL -- "$pid" 2>/dev/null
  done
  sleep 0.2
done
`;

/**
 * Starts a shell in a session of its own that outlives this process for a moment. PR_SET_PDEATHSIG would reach direct
 * children only, and neither the helpers of a download nor what Chromium starts.
 * @param tag what the tags of this very process's children begin with; a later worker on the same directory has another.
 */
export function startGuardian(tag: string, log: Log): Guardian {
  let closing = false;
  let restart: Timer | undefined;
  let restart_ms = RESTART_MS;
  const start = () => {
    const child = spawn("/bin/sh", ["-c", SCRIPT, "flotilla-guardian", tag], {
      detached: true,
      cwd: "/",
      stdio: ["pipe", "ignore", "ignore"],
      env: { PATH: "/usr/local/bin:/usr/bin:/bin" },
    });
    const began = performance.now();
    const exited = once(child, "exit").then(
      () => null,
      (err) => errorMessage(err),
    );
    child.stdin?.on("error", () => {});
    void exited.then((err) => {
      if (closing) return;
      const lived_ms = performance.now() - began;
      const wait_ms = Math.max(0, restart_ms - lived_ms);
      restart_ms = wait_ms > 0 ? Math.min(2 * restart_ms, MAX_RESTART_MS) : RESTART_MS;
      log.warn({ err, wait_ms }, "the guardian of the lanes' processes ended and is started again");
      restart = setTimeout(() => {
        guard = start();
      }, wait_ms);
    });
    return { child, exited };
  };
  let guard = start();
  return {
    get pid() {
      return guard.child.pid;
    },
    close: async () => {
      closing = true;
      clearTimeout(restart);
      guard.child.kill("SIGKILL");
      await guard.exited;
    },
  };
}
