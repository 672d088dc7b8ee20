import { existsSync } from "node:fs";
import { readlink } from "node:fs/promises";
import { CommandRefused } from "../refused.ts";

/** The machine as `install` changes it; tests give another. */
export interface System {
  is_root: boolean;
  /** systemd is what runs this machine. */
  has_systemd: boolean;
  hasUser(name: string): Promise<boolean>;
  /** What the program said. @throws CommandRefused with it when it failed. */
  run(argv: string[]): Promise<string>;
  /** The executable a process runs; null when there is none. */
  executableOf(pid: string): Promise<string | null>;
}

const RUN_MS = 120_000;

async function spawn(argv: string[]) {
  const child = Bun.spawn(argv, {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    timeout: RUN_MS,
  });
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, said: `${out}\n${err}`.trim() };
}

export const realSystem = (): System => ({
  executableOf: (pid) => readlink(`/proc/${pid}/exe`).catch(() => null),
  is_root: process.getuid?.() === 0,
  has_systemd: existsSync("/run/systemd/system"),
  hasUser: async (name) => (await spawn(["id", "-u", name])).code === 0,
  run: async (argv) => {
    const { code, said } = await spawn(argv).catch((err: unknown) => {
      throw new CommandRefused(
        `cannot run ${argv[0]}: ${err instanceof Error ? err.message : err}`,
      );
    });
    if (code !== 0) throw new CommandRefused(`${argv.join(" ")} failed (${code}): ${said}`);
    return said;
  },
});
