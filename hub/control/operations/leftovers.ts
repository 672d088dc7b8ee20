import { readdir, readFile } from "node:fs/promises";

/**
 * Kills what is left of a process group that a dead process of this host had started: only processes that are in the group
 * *and* carry `tag` (NAME=value) in their environment, because the number may belong to others by now. Linux only.
 */
export async function killLeftovers(group: number, tag: string): Promise<void> {
  const pids = (await readdir("/proc").catch(() => [])).filter((name) => /^\d+$/.test(name));
  for (const pid of pids)
    if ((await groupOf(pid)) === group && (await environmentOf(pid)).includes(tag))
      try {
        process.kill(Number(pid), "SIGKILL");
      } catch {
        // Gone meanwhile.
      }
}

/** The name in parentheses may hold spaces and parentheses; state, parent and group follow it. */
async function groupOf(pid: string): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[2]);
}

const environmentOf = async (pid: string): Promise<string[]> =>
  (await readFile(`/proc/${pid}/environ`, "utf8").catch(() => "")).split("\0");
