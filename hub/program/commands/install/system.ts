import { existsSync } from "node:fs";
import { readlink } from "node:fs/promises";
import { createInterface } from "node:readline/promises";
import { callWithin } from "#shared/kit/call-within.ts";
import { systemClock } from "#shared/kit/clock.ts";
import type { EnvSource } from "#shared/kit/env.ts";
import { CommandRefused } from "../refused.ts";

/** The machine as `install` changes it; tests pass another. */
export interface System {
  is_root: boolean;
  /** Whether systemd runs this machine. */
  has_systemd: boolean;
  hasUser(name: string): Promise<boolean>;
  /** The program's output. @throws CommandRefused with it when the program failed. */
  run(argv: string[]): Promise<string>;
  /** The executable a process runs; null when there is none. */
  executableOf(pid: number): Promise<string | null>;
  /** What a hub or control plane at `url` reports about itself; null when it does not answer. */
  health(url: string): Promise<Health | null>;
  /** What the person at the terminal answers; null without a terminal. */
  ask(question: string): Promise<string | null>;
}

interface Health {
  status: number;
  version: string | null;
}

const RUN_MS = 120_000;
const HEALTH_MS = 5_000;

/** Runs without the operator's own variables: only the arguments decide what runs. */
const plainEnvironment = ({ PATH, HOME }: EnvSource) => ({
  PATH: PATH ?? "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  HOME: HOME ?? "/root",
  LC_ALL: "C.UTF-8",
});

async function spawn(argv: string[], env: EnvSource) {
  const child = Bun.spawn(argv, {
    env: plainEnvironment(env),
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

const health = (url: string): Promise<Health | null> =>
  callWithin(systemClock, { what: url, ms: HEALTH_MS }, async (signal) => {
    // This machine's own service, at an address that its certificate may not name.
    const answer = await fetch(url, { signal, tls: { rejectUnauthorized: false } });
    const body = (await answer.json()) as { version?: unknown };
    return {
      status: answer.status,
      version: typeof body.version === "string" ? body.version : null,
    };
  }).catch(() => null);

async function ask(question: string): Promise<string | null> {
  if (!process.stdin.isTTY || !process.stdout.isTTY) return null;
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return await terminal.question(question);
  } finally {
    terminal.close();
  }
}

export const realSystem = (env: EnvSource): System => ({
  health,
  ask,
  executableOf: (pid) => readlink(`/proc/${pid}/exe`).catch(() => null),
  is_root: process.getuid?.() === 0,
  has_systemd: existsSync("/run/systemd/system"),
  hasUser: async (name) => (await spawn(["id", "-u", name], env)).code === 0,
  run: async (argv) => {
    const { code, said } = await spawn(argv, env).catch((err: unknown) => {
      throw new CommandRefused(
        `cannot run ${argv[0]}: ${err instanceof Error ? err.message : err}`,
      );
    });
    if (code !== 0) throw new CommandRefused(`${argv.join(" ")} failed (${code}): ${said}`);
    return said;
  },
});
