import { closeSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Machine, seccompProgram } from "./filter.ts";

/** Writes a machine's filter into `dir`, and answers its path. */
export function writeFilter(dir: string, machine: Machine): string {
  const path = join(dir, "filter.bpf");
  writeFileSync(path, seccompProgram(machine), { mode: 0o600 });
  return path;
}

/** Starts a program with these files as its descriptors 3 and following, each from its beginning. */
export function withInputs<T>(paths: readonly string[], start: (fds: number[]) => T): T {
  const fds: number[] = [];
  try {
    for (const path of paths) fds.push(openSync(path, "r"));
    return start(fds);
  } finally {
    for (const fd of fds) closeSync(fd);
  }
}
