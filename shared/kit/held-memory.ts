import { readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";

/** What a tree of processes holds, read from /proc. Linux only: elsewhere nothing is known. */

/** What one process holds; sizes in bytes. */
interface Held {
  /** Memory of its own, swapped out too, and the tables by which it finds it: reading of untouched memory costs only those. */
  own: number;
  /** Memory that others may hold as well, as far as the process maps it now. */
  shared: number;
  tasks: number;
}

/** Mapped files can be dropped by the kernel and do not count. */
function statusOf(pid: number): Held | null {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "latin1");
    const numberOf = (name: string) =>
      Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(status)?.[1] ?? 0);
    return {
      own: (numberOf("RssAnon") + numberOf("VmSwap") + numberOf("VmPTE")) * 1024,
      shared: numberOf("RssShmem") * 1024,
      tasks: numberOf("Threads"),
    };
  } catch {
    return null;
  }
}

/** How the kernel names what a descriptor of a memory file shows, whoever made it. */
const MEMORY_FILE = /^\/(memfd:|secretmem|anon_hugepage)/;
/** Of `st_blocks`, whatever the file system's own blocks are. */
const BLOCK = 512;

/** Adds the memory files that a process has open to `sizes`, by what names each, so that one counts once. */
function addMemoryFiles(pid: number, sizes: Map<string, number>): void {
  const dir = `/proc/${pid}/fd`;
  for (const fd of namesIn(dir)) {
    try {
      const path = `${dir}/${fd}`;
      if (!MEMORY_FILE.test(readlinkSync(path))) continue;
      const { dev, ino, blocks } = statSync(path);
      sizes.set(`${dev}:${ino}`, blocks * BLOCK);
    } catch {
      // Closed meanwhile.
    }
  }
}

/** Empty where the process is gone, or another user's. */
function namesIn(dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch {
    return [];
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
 * What `pid` and everything below it hold; pages that a fork shares count in both. Of shared memory the larger counts of what
 * is mapped and what is in memory files, mapped or not, for most of it is in both. Null when the process is gone or the system
 * does not say.
 */
export function heldByTree(pid: number): { bytes: number; tasks: number } | null {
  const first = statusOf(pid);
  if (first === null) return null;
  const files = new Map<string, number>();
  const sum = { own: 0, shared: 0, tasks: 0 };
  const add = (one: number, held: Held | null) => {
    if (held === null) return;
    sum.own += held.own;
    sum.shared += held.shared;
    sum.tasks += held.tasks;
    addMemoryFiles(one, files);
  };
  add(pid, first);
  const seen = new Set([pid]);
  for (let level = childrenOf(pid); level.length > 0; ) {
    const fresh = level.filter((child) => !seen.has(child));
    for (const child of fresh) {
      seen.add(child);
      add(child, statusOf(child));
    }
    level = fresh.flatMap(childrenOf);
  }
  const in_files = files.values().reduce((bytes, size) => bytes + size, 0);
  return { bytes: sum.own + Math.max(sum.shared, in_files), tasks: sum.tasks };
}
