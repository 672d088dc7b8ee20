import { environmentOf, listProcesses, type ProcStat, readProc } from "#shared/kit/proc.ts";

/** Who belongs to a lane, and how much memory it holds. Linux only, like the lanes. */

/** Variable that names the run a process belongs to; everything the process starts inherits it. */
export const LANE_TAG = "FLOTILLA_LANE";
/** The same on a command line, because Chromium's processes overwrite their environment with their titles. */
export const TAG_SWITCH = "--flotilla-lane=";

const PAGE_BYTES = 4096;

/** The lane tag of a process, from its command line or its environment; null when it has none. */
export function tagOf(pid: number): string | null {
  // A rewritten title has spaces where the arguments had their NULs.
  const words = readProc(pid, "cmdline")?.split(/[\0 ]/) ?? [];
  const word = words.find((w) => w.startsWith(TAG_SWITCH));
  return word?.slice(TAG_SWITCH.length) ?? environmentOf(pid, LANE_TAG);
}

/**
 * Processes, zombies included, whose lane tag satisfies `match` or that are in one of `sessions`, and everything in the
 * sessions they lead or below them.
 */
export function findByTag(match: (tag: string) => boolean, sessions: number[] = []): ProcStat[] {
  const all = listProcesses();
  const tagged = all.filter((p) => {
    const tag = tagOf(p.pid);
    return tag !== null && match(tag);
  });
  const ours = new Set(tagged.map((p) => p.pid));
  const ourSessions = new Set([
    ...sessions,
    ...tagged.filter((p) => p.session === p.pid).map((p) => p.session),
  ]);
  for (let grown = true; grown; ) {
    grown = false;
    for (const p of all) {
      if (ours.has(p.pid)) continue;
      if (!ours.has(p.ppid) && !ourSessions.has(p.session) && !ourSessions.has(p.pgrp)) continue;
      ours.add(p.pid);
      grown = true;
    }
  }
  return all.filter((p) => ours.has(p.pid) && p.pid !== process.pid);
}

/** Sum of the resident bytes of a session's processes. It counts shared pages once per process, so it is too high. */
export const sumResident = (members: ProcStat[]): number =>
  members.reduce((sum, p) => sum + p.rss_pages * PAGE_BYTES, 0);

/** Proportional set size (shared pages divided among their users) in bytes; resident minus shared where it is unreadable. */
export function sumProportional(members: ProcStat[]): number {
  return members.reduce((sum, p) => sum + (proportional(p.pid) ?? unshared(p)), 0);
}

function proportional(pid: number): number | null {
  const kb = /^Pss:\s+(\d+) kB/m.exec(readProc(pid, "smaps_rollup") ?? "")?.[1];
  return kb === undefined ? null : Number(kb) * 1024;
}

function unshared(p: ProcStat): number {
  const shared = Number(readProc(p.pid, "statm")?.split(" ")[2] ?? 0);
  return Math.max(0, p.rss_pages - shared) * PAGE_BYTES;
}
