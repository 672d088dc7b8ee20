import { readdirSync, readlinkSync, statSync } from "node:fs";
import { childrenOf, readProc } from "./proc.ts";

/** What a tree of processes holds, read from /proc. Linux only: elsewhere nothing is known. */

/** What one process holds; sizes in bytes. */
interface Held {
  /** Private memory, swapped out or not, and its page tables: reading untouched memory costs only the latter. */
  own: number;
  /** Memory that others may share, as far as the process maps it now. */
  shared: number;
  tasks: number;
}

/** Mapped files can be dropped by the kernel and do not count. */
function statusOf(pid: number): Held | null {
  const status = readProc(pid, "status");
  if (status === null) return null;
  const numberOf = (name: string) =>
    Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(status)?.[1] ?? 0);
  return {
    own: (numberOf("RssAnon") + numberOf("VmSwap") + numberOf("VmPTE")) * 1024,
    shared: numberOf("RssShmem") * 1024,
    tasks: numberOf("Threads"),
  };
}

/** How the kernel names the target of a memory file's descriptor, whoever created it. */
const MEMORY_FILE = /^\/(memfd:|secretmem|anon_hugepage)/;
/** The unit of `st_blocks`, whatever the file system's own blocks are. */
const BLOCK = 512;

/** Adds the memory files that a process has open to `sizes`, keyed by identity, so that each counts once. */
function addMemoryFiles(pid: number, sizes: Map<string, number>): void {
  const dir = `/proc/${pid}/fd`;
  for (const fd of namesIn(dir)) {
    try {
      const path = `${dir}/${fd}`;
      if (!MEMORY_FILE.test(readlinkSync(path))) continue;
      const { dev, ino, blocks } = statSync(path);
      sizes.set(`${dev}:${ino}`, blocks * BLOCK);
    } catch {
      // It was closed meanwhile.
    }
  }
}

/** Empty when the process is gone or belongs to another user. */
function namesIn(dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch {
    return [];
  }
}

/**
 * What `pid` and everything below it hold; pages that a fork shares count in both. For shared memory, the larger figure
 * of what is mapped and what is in memory files, mapped or not, counts, because most of it is in both. Null when the
 * process is gone or the system does not report it.
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
