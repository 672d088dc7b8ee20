import { statfsSync, writeFileSync } from "node:fs";
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

/** Files in the sandbox's /tmp: each takes memory of the kernel, also an empty one, and no size bounds their number. */
function filesOf(first: number | null): number {
  if (first === null) return 0;
  try {
    const { files, ffree } = statfsSync(`/proc/${first}/root/tmp`);
    return files - ffree;
  } catch {
    // Gone already.
    return 0;
  }
}

/**
 * Calls `onExcess` once, with words for people, when `pid` and everything below it hold more memory, files or tasks than a
 * run may, unless `over` aborts before. Memory is sampled because what the kernel could enforce does not fit: the runtime
 * reserves gigabytes of address space that it never touches, and a cgroup needs rights that containers and units do not
 * give. Between two samples a script may hold more: 60 MB more, measured.
 */
export async function watchRun(options: {
  pid: number;
  /** The first process of the sandbox, once there is one. */
  first: () => number | null;
  clock: Clock;
  over: AbortSignal;
  onExcess: (words: string) => void;
}): Promise<void> {
  const { pid, first, clock, over, onExcess } = options;
  for (;;) {
    await clock.sleep(RUN_LIMITS.look_every_ms, over);
    if (over.aborted) return;
    const held = heldByTree(pid);
    if (held === null) continue;
    if (held.bytes > RUN_LIMITS.memory)
      return onExcess(
        `${Math.ceil(held.bytes / MIB)} MB of memory, more than ${RUN_LIMITS.memory / MIB}`,
      );
    const files = filesOf(first());
    if (files > RUN_LIMITS.files) return onExcess(`${files} files, more than ${RUN_LIMITS.files}`);
    // Where the kernel counts them this never happens; the sandbox itself has a few.
    if (held.tasks > RUN_LIMITS.tasks * 2)
      return onExcess(`${held.tasks} processes and threads, more than ${RUN_LIMITS.tasks}`);
  }
}
