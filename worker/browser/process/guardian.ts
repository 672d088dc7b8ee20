import { spawn } from "node:child_process";
import { once } from "node:events";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import { LANE_TAG, TAG_SWITCH } from "./tagged.ts";

/** Ends everything that carries a tag when this process is gone, however it ended. */
export interface Guardian {
  pid: number | undefined;
  /** Lets it end. What carries the tag must be gone by then. Idempotent. */
  close(): Promise<void>;
}

/** The wait before the next start doubles each time the guardian does not survive: a shell may not run here at all. */
const RESTART_MS = 1_000;
const MAX_RESTART_MS = 60_000;

/**
 * Waits for the end of its input, which the kernel closes when the worker dies, then kills by tag. It kills whole
 * groups first, because a leader's group holds its helpers, and Chromium's helpers show no tag. It does so three
 * times, because a process that was just being started does not appear at once. The pattern goes through a pipe;
 * otherwise grep would find itself.
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
 * Starts a shell in a session of its own that outlives this process for a moment. PR_SET_PDEATHSIG would reach only
 * direct children, not the helpers of a download or what Chromium starts.
 * @param tag the prefix of the tags of this process's children; a later worker on the same directory has another.
 * @param held file descriptors that stay open until it has ended them.
 */
export function startGuardian(tag: string, log: Log, held: readonly number[] = []): Guardian {
  let closing = false;
  let restart: Timer | undefined;
  let restart_ms = RESTART_MS;
  const start = () => {
    const child = spawn("/bin/sh", ["-c", SCRIPT, "flotilla-guardian", tag], {
      detached: true,
      cwd: "/",
      stdio: ["pipe", "ignore", "ignore", ...held],
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
      log.warn(
        { err, wait_ms },
        "the guardian of the lanes' processes ended and will be restarted",
      );
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
