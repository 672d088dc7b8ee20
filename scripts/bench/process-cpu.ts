import { listProcesses, TICK_MS, ticksOfTree } from "#shared/kit/proc.ts";

/** CPU seconds that a process and its living descendants have used; a child that was reaped counts with its parent. */
export const cpuSeconds = (pid: number): number =>
  (ticksOfTree(pid, listProcesses()) * TICK_MS) / 1_000;
