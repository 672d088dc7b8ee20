import { readdirSync, readFileSync } from "node:fs";

/** What a tree of processes holds, read from /proc. Linux only: elsewhere nothing is known. */

/** Bytes of private and shared memory of one process, and its threads; mapped files can be dropped by the kernel and do not count. */
function statusOf(pid: number): { bytes: number; tasks: number } | null {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "latin1");
    const numberOf = (name: string) =>
      Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(status)?.[1] ?? 0);
    return {
      bytes: (numberOf("RssAnon") + numberOf("RssShmem")) * 1024,
      tasks: numberOf("Threads"),
    };
  } catch {
    return null;
  }
}

/** Processes that `pid` has started and that are alive. */
export function childrenOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
      readFileSync(`/proc/${pid}/task/${thread}/children`, "latin1")
        .split(" ")
        .filter(Boolean)
        .map(Number),
    );
  } catch {
    // Gone meanwhile, or a kernel without this file: the leader alone is counted then.
    return [];
  }
}

/**
 * What `pid` and everything below it hold; pages that a fork shares count in both. Null when the process is gone or the
 * system does not say.
 */
export function heldByTree(pid: number): { bytes: number; tasks: number } | null {
  const sum = statusOf(pid);
  if (sum === null) return null;
  const seen = new Set([pid]);
  for (let level = childrenOf(pid); level.length > 0; ) {
    const fresh = level.filter((child) => !seen.has(child));
    for (const child of fresh) {
      seen.add(child);
      const held = statusOf(child);
      sum.bytes += held?.bytes ?? 0;
      sum.tasks += held?.tasks ?? 0;
    }
    level = fresh.flatMap(childrenOf);
  }
  return sum;
}
