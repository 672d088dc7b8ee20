import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { delegatedDir, GROUP_MEMORY, openRunGroups } from "#hub/fleet/runner/cgroup.ts";
import { endOf } from "#hub/fleet/runner/end-of-run.ts";

/** Where runs are bounded by the kernel, decided on directories as cgroup v2 shows them. */

const OWN = "0::/system.slice/flotilla-hub.service/hub\n";
let mounted: string;
let unit: string;
beforeEach(() => {
  mounted = mkdtempSync(join(tmpdir(), "flotilla-cgroup-"));
  unit = join(mounted, "system.slice/flotilla-hub.service");
  mkdirSync(join(unit, "hub"), { recursive: true });
  writeFileSync(join(unit, "cgroup.controllers"), "cpu memory pids\n");
  writeFileSync(join(unit, "cgroup.subtree_control"), "\n");
});
afterEach(() => rmSync(mounted, { recursive: true, force: true }));

const groupsIn = () => readdirSync(unit).filter((name) => name.startsWith("run-"));

describe("which part of the tree is the hub's", () => {
  test("what its unit delegates: the directory above the group that systemd has put it into", () => {
    expect(delegatedDir(OWN, "/sys/fs/cgroup")).toBe(
      "/sys/fs/cgroup/system.slice/flotilla-hub.service",
    );
  });

  test("nothing that it was not given, whatever it could write to", () => {
    for (const own of [
      "",
      "0::/\n",
      // A unit without delegation, one of an older systemd, a shell, a container.
      "0::/system.slice/flotilla-hub.service\n",
      "0::/user.slice/user-1000.slice/session-3.scope\n",
      "0::/user.slice/user-1000.slice/user@1000.service/app.slice/x.scope\n",
      "0::/../hub\n",
      // Version 1.
      "4:memory:/system.slice/flotilla-hub.service/hub\n1:cpu:/\n",
    ])
      expect(openRunGroups(own, mounted)).toEqual({ groups: null, why: null });
  });

  test("without the memory controller, or the right to switch it on, it says why", () => {
    rmSync(join(unit, "cgroup.subtree_control"));
    mkdirSync(join(unit, "cgroup.subtree_control"));
    expect(openRunGroups(OWN, mounted)).toEqual({
      groups: null,
      why: expect.stringContaining("EISDIR"),
    });
    writeFileSync(join(unit, "cgroup.controllers"), "cpu pids\n");
    expect(openRunGroups(OWN, mounted)).toEqual({
      groups: null,
      why: "its unit was given no memory controller (Delegate=memory)",
    });
  });
});

describe("the group of a run", () => {
  test("it is bounded, its program is started in it, and it goes with the run", async () => {
    mkdirSync(join(unit, "run-left-by-a-hub-that-was-killed"));
    const { groups } = openRunGroups(OWN, mounted);
    expect(readFileSync(join(unit, "cgroup.subtree_control"), "utf8")).toBe("+memory");
    expect(groupsIn()).toEqual([]);
    const group = groups?.open();
    if (!group) throw new Error("no group");
    const [name = ""] = groupsIn();
    const dir = join(unit, name);
    expect(readFileSync(join(dir, "memory.max"), "utf8")).toBe(String(GROUP_MEMORY));
    expect(readFileSync(join(dir, "memory.swap.max"), "utf8")).toBe("0");
    expect(readFileSync(join(dir, "memory.oom.group"), "utf8")).toBe("1");
    const child = Bun.spawn([...group.enter, "echo", "a b", "$HOME"], { stdout: "pipe" });
    expect(await new Response(child.stdout).text()).toBe("a b $HOME\n");
    expect(readFileSync(join(dir, "cgroup.procs"), "utf8")).toBe("0\n");
    expect(group.ranOut()).toBe(false);
    writeFileSync(join(dir, "memory.events"), "low 0\nhigh 0\nmax 31\noom 1\noom_kill 2\n");
    expect(group.ranOut()).toBe(true);
    // The kernel's files go with their directory; these do not.
    for (const file of readdirSync(dir)) rmSync(join(dir, file));
    group.close();
    expect(groupsIn()).toEqual([]);
  });

  test("a program that the kernel does not let into it runs all the same", async () => {
    const group = openRunGroups(OWN, mounted).groups?.open();
    if (!group) throw new Error("no group");
    mkdirSync(join(unit, groupsIn()[0] ?? "", "cgroup.procs"));
    const child = Bun.spawn([...group.enter, "echo", "ran"], { stdout: "pipe", stderr: "pipe" });
    expect(await new Response(child.stdout).text()).toBe("ran\n");
    expect(await new Response(child.stderr).text()).toBe("");
  });

  test("a run that the kernel ended for want of memory is told so", () => {
    const known = { stopped: null, said: null, code: 137, connected: true, stderr: "" };
    expect(endOf({ ...known, ran_out: true })).toEqual({
      end: "limit",
      detail: "the script used more than 640 MB of memory",
    });
    expect(endOf({ ...known, ran_out: false }).detail).toContain("killed by the system");
  });
});
