import type { Clock } from "#shared/kit/clock.ts";
import { listProcesses, readProc } from "#shared/kit/proc.ts";

/**
 * A process shows no environment in the middle of its exec, and a process that is killed may have just started another.
 */
const PASSES = 20;
const PASS_EVERY_MS = 20;

/**
 * Kills what is left of a process group that a dead process on this host had started: only processes that are in the
 * group *and* carry `tag` (NAME=value) in their environment, because the number may belong to others by now. Looks
 * again until no process in the group carries it or has yet to show its environment. Linux only.
 */
export async function killLeftovers(group: number, tag: string, clock: Clock): Promise<void> {
  for (let pass = 0; pass < PASSES; pass++) {
    const members = listProcesses().filter(({ pgrp, state }) => pgrp === group && state !== "Z");
    if (!members.map(({ pid }) => killIfLeft(pid, tag)).includes(true)) return;
    await clock.sleep(PASS_EVERY_MS);
  }
}

/** Whether it had to be killed, or may have to be once it shows what it is. */
function killIfLeft(pid: number, tag: string): boolean {
  const environment = readProc(pid, "environ") ?? "";
  if (environment === "") return true;
  if (!environment.split("\0").includes(tag)) return false;
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // Gone in the meantime.
  }
  return true;
}
