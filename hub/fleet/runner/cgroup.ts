import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { errorMessage } from "#shared/kit/errors.ts";
import { newToken } from "#shared/protocol/ids.ts";
import { RUN_LIMITS } from "./limits.ts";

/**
 * A bound on a run's memory that the kernel itself keeps (cgroup v2), where the hub's unit was given a part of the tree: its
 * `DelegateSubgroup=` puts the hub below that part, and runs get groups beside it. Elsewhere a run is only watched: in
 * containers, under systemd before 254, with cgroup v1. The hub moves nothing that is not its own.
 */

/** As the guide has the operator write it (how-to/scripts): `DelegateSubgroup=hub`. */
const OWN_GROUP = "hub";
const MOUNTED = "/sys/fs/cgroup";
const PREFIX = "run-";
const MIB = 1024 * 1024;
/**
 * The watch ends a run at its limit and says why; this is for what it takes between two looks, and for kernel memory.
 */
const SLACK = 64 * MIB;
export const GROUP_MEMORY = RUN_LIMITS.memory + RUN_LIMITS.tmp + SLACK;

/** The group of one run. */
export interface RunGroup {
  /** Prefix of the command: starts it in the group, or outside where the kernel does not let it in. */
  readonly enter: readonly string[];
  /** Whether the kernel ended the run for want of memory. */
  ranOut(): boolean;
  /** After the run's last process. Idempotent. */
  close(): void;
}

/** Makes groups below one directory. */
export interface RunGroups {
  /** @throws what the kernel says. */
  open(): RunGroup;
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

/** The directory in which groups of runs may lie, by the text of /proc/self/cgroup; null when the unit was given none. */
export function delegatedDir(own: string, mounted: string = MOUNTED): string | null {
  const path = /^0::(\/.*\.service)\/([^/]+)$/m.exec(own.trim());
  return path?.[2] === OWN_GROUP ? join(mounted, path[1] as string) : null;
}

const has = (list: string, controller: string): boolean =>
  list.trim().split(/\s+/).includes(controller);

/**
 * Takes the hub's part of the tree into use.
 * @returns null where there is none, and why as far as it is worth telling an operator.
 */
export function openRunGroups(
  own: string = textOf("/proc/self/cgroup"),
  mounted: string = MOUNTED,
): { groups: RunGroups | null; why: string | null } {
  const dir = delegatedDir(own, mounted);
  if (dir === null) return { groups: null, why: null };
  if (!has(textOf(join(dir, "cgroup.controllers")), "memory"))
    return { groups: null, why: "its unit was given no memory controller (Delegate=memory)" };
  try {
    const switches = join(dir, "cgroup.subtree_control");
    if (!has(textOf(switches), "memory")) writeFileSync(switches, "+memory");
    sweep(dir);
    return { groups: { open: () => openGroup(dir) }, why: null };
  } catch (err) {
    return { groups: null, why: errorMessage(err) };
  }
}

/** Removes groups that a hub before this one left. One that still has processes stays. */
function sweep(dir: string): void {
  for (const name of readdirSync(dir)) if (name.startsWith(PREFIX)) remove(join(dir, name));
}

function remove(group: string): void {
  try {
    rmdirSync(group);
  } catch {
    // Has processes yet, or is gone.
  }
}

/** Exists in every container image that has bubblewrap; it gives its place to the program. */
const ENTER = 'echo 0 2>/dev/null >"$0/cgroup.procs"; exec "$@"';

function openGroup(dir: string): RunGroup {
  const group = join(dir, `${PREFIX}${newToken()}`);
  mkdirSync(group);
  try {
    writeFileSync(join(group, "memory.max"), String(GROUP_MEMORY));
  } catch (err) {
    remove(group);
    throw err;
  }
  for (const [name, value] of [
    // Not there without swap, and in kernels before 4.19.
    ["memory.swap.max", "0"],
    ["memory.oom.group", "1"],
  ] as const)
    try {
      writeFileSync(join(group, name), value);
    } catch {
      // The bound holds without it.
    }
  let ran_out: boolean | null = null;
  const ranOut = () => /^oom_kill [1-9]/m.test(textOf(join(group, "memory.events")));
  return {
    enter: ["/bin/sh", "-c", ENTER, group],
    ranOut: () => ran_out ?? ranOut(),
    close: () => {
      ran_out ??= ranOut();
      remove(group);
    },
  };
}
