import { readdirSync, readFileSync } from "node:fs";

/** Linux counts in hundredths of a second wherever Bun runs. */
const TICKS_PER_S = 100;

/** CPU seconds that a process and its living descendants have used; a child that was reaped counts with its parent. */
export function cpuSeconds(pid: number): number {
  const children = new Map<number, number[]>();
  const ticks = new Map<number, number>();
  for (const entry of readdirSync("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    try {
      const stat = readFileSync(`/proc/${entry}/stat`, "latin1");
      const fields = stat
        .slice(stat.lastIndexOf(")") + 2)
        .split(" ")
        .map(Number);
      // ppid, then utime, stime and those of reaped children.
      const [parent, ...used] = [fields[1], fields[11], fields[12], fields[13], fields[14]];
      ticks.set(
        Number(entry),
        used.reduce<number>((sum, n) => sum + (n ?? 0), 0),
      );
      children.set(parent ?? 0, [...(children.get(parent ?? 0) ?? []), Number(entry)]);
    } catch {
      // gone between the listing and the read
    }
  }
  const sum = (of: number): number =>
    (ticks.get(of) ?? 0) + (children.get(of) ?? []).reduce((all, child) => all + sum(child), 0);
  return sum(pid) / TICKS_PER_S;
}
