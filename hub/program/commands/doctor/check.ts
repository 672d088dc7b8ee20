import { withDeadline } from "#shared/kit/clock.ts";
import type { EnvSource } from "#shared/kit/env.ts";
import { errorMessage } from "#shared/kit/errors.ts";

/** `fail`: something cannot work. `warn`: something is slower, or one feature is missing. */
export type CheckStatus = "ok" | "warn" | "fail";

export interface Check {
  name: string;
  status: CheckStatus;
  /** What was found. */
  found: string;
  /** What to do about it; empty when it is ok. */
  advice: string;
}

export interface CheckDeps {
  env: EnvSource;
  /** Directories in which to look for programs. */
  path: string;
}

/** Longer than anything that a check itself waits for. */
const CHECK_MS = 60_000;
const PROGRAM_MS = 10_000;

export const ok = (name: string, found: string): Check => ({
  name,
  status: "ok",
  found,
  advice: "",
});
export const warn = (name: string, found: string, advice: string): Check => ({
  name,
  status: "warn",
  found,
  advice,
});
export const fail = (name: string, found: string, advice: string): Check => ({
  name,
  status: "fail",
  found,
  advice,
});
export const install = (packages: string | readonly string[]) =>
  `apt-get install ${typeof packages === "string" ? packages : packages.join(" ")}`;

/** A check that throws or hangs is itself a finding. */
export const told = (name: string, check: () => Promise<Check>): Promise<Check> =>
  withDeadline(name, CHECK_MS, check()).catch((err) => fail(name, errorMessage(err), ""));

export const setting = (env: EnvSource, name: string): string | null => env[name]?.trim() || null;

export const isOn = (env: EnvSource, name: string): boolean =>
  /^(1|true|yes|on)$/i.test(env[name]?.trim() ?? "");

export const numberOf = (value: string | undefined, fallback: number): number => {
  const number = Number(value?.trim() || fallback);
  return Number.isInteger(number) ? number : fallback;
};

/** What a program prints within 10 s; null if it cannot be run or had to be stopped. */
export async function outputOf(argv: string[], ms = PROGRAM_MS): Promise<string | null> {
  try {
    const child = Bun.spawn(argv, {
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
      timeout: ms,
      killSignal: "SIGKILL",
    });
    const [out, err] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
    ]);
    await child.exited;
    return child.signalCode === null ? `${out}\n${err}` : null;
  } catch {
    return null;
  }
}

export async function firstLine(argv: string[]): Promise<string | null> {
  const text = await outputOf(argv);
  const line = text?.split("\n").find((l) => l.trim() !== "");
  return text === null ? null : (line?.trim().slice(0, 80) ?? "");
}
