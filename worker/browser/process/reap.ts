import { dlopen, FFIType } from "bun:ffi";
import type { ProcStat } from "#shared/kit/proc.ts";

const WNOHANG = 1;

interface Libc {
  waitpid(pid: number, status: null, options: number): number;
}

let libc: Libc | null | undefined;

function loadLibc(): Libc | null {
  try {
    return dlopen("libc.so.6", {
      waitpid: { args: [FFIType.i32, FFIType.ptr, FFIType.i32], returns: FFIType.i32 },
    }).symbols as Libc;
  } catch {
    // This is another libc; orphans stay until a container with an init collects them.
    return null;
  }
}

/**
 * Collects zombies that became this process's children without having been started by it: orphans of a killed browser when
 * the worker is pid 1 of a container. The runtime waits for `spawned` processes; they must not be taken from it.
 */
export function reapOrphans(zombies: ProcStat[], spawned: (pid: number) => boolean): number {
  let reaped = 0;
  for (const p of zombies) {
    if (p.state !== "Z" || p.ppid !== process.pid || spawned(p.pid)) continue;
    libc ??= loadLibc();
    if (libc && libc.waitpid(p.pid, null, WNOHANG) === p.pid) reaped += 1;
  }
  return reaped;
}
