import { writeFileSync } from "node:fs";
import type { Clock } from "#shared/clock.ts";
import { heldByTree } from "#shared/held-memory.ts";
import { RUN_LIMITS } from "./limits.ts";

const MIB = 1024 * 1024;

/** The kernel, when it is out of memory, is to take a script and not the hub. */
export function offerToOomKiller(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, "1000");
  } catch {
    // Gone already.
  }
}

/**
 * Calls `onExcess` once, with words for people, when `pid` and everything below it hold more memory or tasks than a run
 * may, unless `over` aborts before. Memory is sampled because what the kernel could enforce does not fit: the runtime
 * reserves gigabytes of address space that it never touches, and a cgroup needs rights that containers and units do not
 * give. Between two samples a script may hold more: 300 MB more, measured.
 */
export async function watchRun(options: {
  pid: number;
  clock: Clock;
  over: AbortSignal;
  onExcess: (words: string) => void;
}): Promise<void> {
  const { pid, clock, over, onExcess } = options;
  for (;;) {
    await clock.sleep(RUN_LIMITS.look_every_ms, over);
    if (over.aborted) return;
    const held = heldByTree(pid);
    if (held === null) continue;
    if (held.bytes > RUN_LIMITS.memory)
      return onExcess(
        `${Math.ceil(held.bytes / MIB)} MB of memory, more than ${RUN_LIMITS.memory / MIB}`,
      );
    // Where the kernel counts them this never happens; the sandbox itself has a few.
    if (held.tasks > RUN_LIMITS.tasks * 2)
      return onExcess(`${held.tasks} processes and threads, more than ${RUN_LIMITS.tasks}`);
  }
}
