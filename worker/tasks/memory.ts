import type { Clock } from "#shared/kit/clock.ts";
import { heldByTree } from "#shared/kit/held-memory.ts";

/**
 * How much memory a task's processes hold, and a cap on it (executor_config.memory_mb). Sampled, because the two ways the
 * kernel could enforce it do not fit: RLIMIT_AS counts address space, of which Bun and CUDA reserve gigabytes they never
 * touch, and creating a cgroup needs rights that a container does not give. What a task takes between two samples may
 * be over the cap for that long. Linux only: elsewhere nothing is known, and there is no cap.
 */
const SAMPLE_MS = 100;
export const MIB = 1024 * 1024;

/** Bytes held by `pid` and all processes below it; null when it is gone or the system does not say. */
export const heldBytes = (pid: number): number | null => heldByTree(pid)?.bytes ?? null;

/** A message for people when `pid` holds more than `most` bytes now, else null. */
export function excess(pid: number, most: number): string | null {
  const held = heldBytes(pid);
  if (held === null || held <= most) return null;
  return `${Math.ceil(held / MIB)} MB of memory, more than its memory_mb of ${Math.floor(most / MIB)}`;
}

/** Calls `onExcess` once when `pid` holds more than `most` bytes, unless `over` aborts before. */
export async function watchMemory(options: {
  pid: number;
  most: number;
  clock: Clock;
  over: AbortSignal;
  onExcess: (words: string) => void;
}): Promise<void> {
  const { pid, most, clock, over, onExcess } = options;
  for (;;) {
    await clock.sleep(SAMPLE_MS, over);
    if (over.aborted) return;
    const words = excess(pid, most);
    if (words !== null) return onExcess(words);
  }
}

/**
 * The size above which a warm process that held `baseline` bytes when it was loaded is replaced before its next task:
 * twice that and 200 MB and, where there is a cap, half of what was left of it. A process that is large from the start
 * has no leak.
 */
export function wornAbove(baseline: number, most: number | null): number {
  const grown = baseline * 2 + 200 * MIB;
  return most === null ? grown : Math.min(grown, Math.max(most * 0.8, (baseline + most) / 2));
}
