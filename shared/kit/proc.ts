import { readdirSync, readFileSync, writeFileSync } from "node:fs";

/** Reading processes from /proc. Linux only: elsewhere there are none to see. */

export interface ProcStat {
  pid: number;
  comm: string;
  /** One letter: R, S, D, Z (zombie), X (dead), … */
  state: string;
  ppid: number;
  pgrp: number;
  session: number;
  /** CPU time in units of `TICK_MS`, its own and that of the children it has waited for. */
  ticks: number;
  rss_pages: number;
}

/** Linux reports CPU time to user space in hundredths of a second on every machine that we support. */
export const TICK_MS = 10;

/** Parses /proc/<pid>/stat; the command may hold spaces and parentheses. Null when the text has another format. */
export function parseStat(text: string): ProcStat | null {
  const open = text.indexOf("(");
  const close = text.lastIndexOf(")");
  if (open < 0 || close < open) return null;
  const fields = text.slice(close + 2).split(" ");
  const at = (index: number) => Number(fields[index]);
  const stat = {
    pid: Number(text.slice(0, open)),
    comm: text.slice(open + 1, close),
    state: fields[0] ?? "?",
    ppid: at(1),
    pgrp: at(2),
    session: at(3),
    ticks: at(11) + at(12) + at(13) + at(14),
    rss_pages: at(21),
  };
  return Number.isNaN(stat.rss_pages) ? null : stat;
}

/** A file of /proc/<pid>; null when the process is gone or not ours to read. */
export function readProc(pid: number, file: string): string | null {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "latin1");
  } catch {
    return null;
  }
}

export function readStat(pid: number): ProcStat | null {
  const text = readProc(pid, "stat");
  return text === null ? null : parseStat(text);
}

/** Whether the process is there and has not ended: a zombie has. */
export const isAlive = (stat: ProcStat | null): stat is ProcStat =>
  stat !== null && stat.state !== "Z" && stat.state !== "X";

/** The number of every process; empty where there is no /proc. */
export function listPids(): number[] {
  try {
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    return [];
  }
}

export const listProcesses = (): ProcStat[] => listPids().flatMap((pid) => readStat(pid) ?? []);

/** Processes that `pid` has started and that have not been waited for. */
export function childrenOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
      (readProc(pid, `task/${thread}/children`) ?? "").split(" ").filter(Boolean).map(Number),
    );
  } catch {
    // The process is gone.
    return [];
  }
}

/** CPU time that `pid` and its living descendants in `all` have used so far, in ticks. */
export function ticksOfTree(
  pid: number,
  all: readonly Pick<ProcStat, "pid" | "ppid" | "ticks">[],
): number {
  const children = Map.groupBy(all, ({ ppid }) => ppid);
  const left = all.filter((one) => one.pid === pid);
  let sum = 0;
  for (let one = left.pop(); one; one = left.pop()) {
    sum += one.ticks;
    left.push(...(children.get(one.pid) ?? []));
  }
  return sum;
}

/** The value of one variable in a process's environment; null when it has none or is not ours to read. */
export function environmentOf(pid: number, name: string): string | null {
  const entries = readProc(pid, "environ")?.split("\0");
  return entries?.find((entry) => entry.startsWith(`${name}=`))?.slice(name.length + 1) ?? null;
}

/** Makes the kernel kill this process, and not the one that started it, when memory runs out. */
export function offerToOomKiller(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, "1000");
  } catch {
    // Gone already, or not Linux.
  }
}
