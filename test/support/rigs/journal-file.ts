import { closeSync, fstatSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "./fleet-process.ts";
import { cleanEnv } from "./program.ts";

/** A program whose standard error is a file that JOURNAL_STREAM names, as systemd does with the journal's socket. */
export interface Journalled {
  lines(): string[];
  /** The first line that matches, waited for. */
  line(pattern: RegExp): Promise<string>;
  exited: Promise<number>;
  kill(signal: NodeJS.Signals): void;
}

export interface JournalledOptions {
  dir: string;
  env?: Record<string, string | undefined>;
  /** JOURNAL_STREAM as something else than the file has inherited it. */
  foreign?: boolean;
}

export function startJournalled(
  argv: string[],
  { dir, env, foreign }: JournalledOptions,
): Journalled {
  const file = join(dir, "journal");
  const fd = openSync(file, "a");
  const { dev, ino } = fstatSync(fd, { bigint: true });
  const stream = `${dev}:${foreign ? ino + 1n : ino}`;
  const child = Bun.spawn(argv, {
    cwd: dir,
    env: cleanEnv({ JOURNAL_STREAM: stream, ...env }),
    stdio: ["ignore", "ignore", fd],
  });
  closeSync(fd);
  const lines = () => readFileSync(file, "utf8").split("\n").slice(0, -1);
  return {
    lines,
    line: (pattern) =>
      until(`a line like ${pattern}`, 60_000, () => lines().find((line) => pattern.test(line))),
    exited: child.exited,
    kill: (signal) => child.kill(signal),
  };
}
