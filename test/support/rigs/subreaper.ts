import { dlopen, FFIType } from "bun:ffi";
import { listProcesses } from "#shared/kit/proc.ts";
import { reapOrphans } from "#worker/browser/process/reap.ts";

/** Becomes what pid 1 of a container is to orphans, gets one that has ended, and says what `reapOrphans` made of it. */
const PR_SET_CHILD_SUBREAPER = 36;
const { i32, u64 } = FFIType;
dlopen("libc.so.6", { prctl: { args: [i32, u64, u64, u64, u64], returns: i32 } }).symbols.prctl(
  PR_SET_CHILD_SUBREAPER,
  1n,
  0n,
  0n,
  0n,
);
const zombies = () => listProcesses().filter((p) => p.state === "Z" && p.ppid === process.pid);

const shell = Bun.spawn(["sh", "-c", "sleep 0.01 & exit 0"]);
await shell.exited;
while (zombies().length === 0) await Bun.sleep(1);
const spared = reapOrphans(zombies(), () => true);
const reaped = reapOrphans(listProcesses(), (pid) => pid === shell.pid);
process.stdout.write(JSON.stringify({ spared, reaped, left: zombies().length }));
