import { readdir, readFile } from "node:fs/promises";
import type { Clock } from "#shared/kit/clock.ts";

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
    const pids = (await readdir("/proc").catch(() => [])).filter((name) => /^\d+$/.test(name));
    const found = await Promise.all(pids.map((pid) => killIfLeft(pid, group, tag)));
    if (!found.includes(true)) return;
    await clock.sleep(PASS_EVERY_MS);
  }
}

/** Whether it had to be killed, or may have to be once it shows what it is. */
async function killIfLeft(pid: string, group: number, tag: string): Promise<boolean> {
  const stat = await statOf(pid);
  if (stat.group !== group || stat.state === "Z") return false;
  const environment = await readFile(`/proc/${pid}/environ`, "utf8").catch(() => "");
  if (environment === "") return true;
  if (!environment.split("\0").includes(tag)) return false;
  try {
    process.kill(Number(pid), "SIGKILL");
  } catch {
    // Gone meanwhile.
  }
  return true;
}

/** The name in parentheses may hold spaces and parentheses; state, parent and group follow it. */
async function statOf(pid: string): Promise<{ state: string; group: number }> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  const [state = "", , group] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return { state, group: Number(group) };
}
