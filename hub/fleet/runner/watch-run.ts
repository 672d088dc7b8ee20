import { statfsSync } from "node:fs";
import type { Clock } from "#shared/kit/clock.ts";
import { heldByTree } from "#shared/kit/held-memory.ts";
import { type HeldBySockets, heldBySockets } from "./held-sockets.ts";
import { RUN_LIMITS } from "./limits.ts";

const MIB = 1024 * 1024;

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

/** What of a run is bounded by looking at it. */
export interface HeldByRun {
  /** Of all processes, and their memory files. */
  bytes: number;
  tasks: number;
  /** Of the sandbox's own network; null where there is none of its own. */
  network: HeldBySockets | null;
  files: number;
}

/** What of a run is more than it may have, in words for people; null when nothing is. */
export function excessOf({ bytes, tasks, network, files }: HeldByRun): string | null {
  const all = bytes + (network?.bytes ?? 0);
  if (all > RUN_LIMITS.memory)
    return `${Math.ceil(all / MIB)} MB of memory, more than ${RUN_LIMITS.memory / MIB}`;
  if (files > RUN_LIMITS.files) return `${files} files, more than ${RUN_LIMITS.files}`;
  if (network && network.sockets > RUN_LIMITS.sockets)
    return `${network.sockets} sockets, more than ${RUN_LIMITS.sockets}`;
  // Where the kernel counts them this never happens; the sandbox itself has a few.
  if (tasks > RUN_LIMITS.tasks * 2)
    return `${tasks} processes and threads, more than ${RUN_LIMITS.tasks}`;
  return null;
}

/**
 * Calls `onExcess` once, with words for people, when `pid` and everything below it hold more memory, files, sockets or tasks than
 * a run may, unless `over` aborts before. Memory is sampled because what the kernel could enforce does not fit: the runtime
 * reserves gigabytes of address space that it never touches, and a cgroup needs rights that few hubs are given (`cgroup.ts`). Between two samples a script may hold more: 60 MB more, measured.
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
    const tree = heldByTree(pid);
    if (tree === null) continue;
    const inside = first();
    const network = inside === null ? null : heldBySockets(inside);
    const words = excessOf({ ...tree, network, files: filesOf(inside) });
    if (words !== null) return onExcess(words);
  }
}
