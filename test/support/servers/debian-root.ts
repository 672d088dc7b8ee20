import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runProgram } from "../rigs/program.ts";

/** A Debian of its own in a directory (debootstrap's minbase): what packages do to a machine that nothing else has touched. */

const SUITE = "bookworm";

export interface DebianRoot {
  dir: string;
  /** Runs `script` there as root. */
  run(script: string): Promise<{ code: number; said: string }>;
  /** The same, and its output. @throws Error when a command of it failed */
  demand(script: string): Promise<string>;
  remove(): void;
}

/** What is mounted for a command goes with it. */
const ENTER = 'mount -t proc proc "$1/proc"; exec chroot "$1" sh -ec "$2"';

/** Fetches 60 MB from Debian's mirror. */
export async function makeDebianRoot(): Promise<DebianRoot> {
  const dir = mkdtempSync(join(tmpdir(), "flotilla-debian-"));
  const made = await runProgram(["debootstrap", "--variant=minbase", SUITE, dir]);
  if (made.code !== 0) throw new Error(`debootstrap: ${made.stdout}\n${made.stderr}`);
  const run = async (script: string) => {
    const argv = ["unshare", "--mount", "sh", "-ec", ENTER, "sh", dir, script];
    const env = { DEBIAN_FRONTEND: "noninteractive", LC_ALL: "C.UTF-8" };
    const { code, stdout, stderr } = await runProgram(argv, { env });
    return { code, said: `${stdout}\n${stderr}` };
  };
  const demand = async (script: string) => {
    const { code, said } = await run(script);
    if (code !== 0) throw new Error(`${script}: ${code}\n${said}`);
    return said.trim();
  };
  return { dir, run, demand, remove: () => rmSync(dir, { recursive: true, force: true }) };
}
