import { afterEach, describe, expect, test } from "bun:test";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { silentLog } from "#shared/kit/log.ts";
import type { TarEntry } from "#test/support/clients/tar.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import {
  archiveOf,
  BASE,
  SMALL,
  startUpdateRig,
  type UpdateRig,
  type UpdateRigOptions,
  versionOf,
} from "#test/support/rigs/update-rig.ts";
import { hasPackage } from "#worker/program/update/packages.ts";
import { findStaged, pruneVersions } from "#worker/program/update/stage.ts";
import { firstState, readState, writeState } from "#worker/program/update/state.ts";

const MIB = 1024 ** 2;
const B = versionOf(SMALL);

let rigs: UpdateRig[] = [];
afterEach(async () => {
  await Promise.all(rigs.map((rig) => rig.close()));
  rigs = [];
});
async function startRig(options?: UpdateRigOptions): Promise<UpdateRig> {
  const rig = await startUpdateRig(options);
  rigs.push(rig);
  return rig;
}
const whole = (body: Uint8Array) => (response: ServerResponse) =>
  void response.writeHead(200, { "content-length": body.byteLength }).end(body);
const stateOf = (rig: UpdateRig) => readState(rig.dir, BASE, silentLog);

describe("a worker of another version (rules/updates#orders)", () => {
  test("fetches, checks and stages the hub's, drains, swaps and exits", async () => {
    const rig = await startRig();
    rig.serve(whole(await archiveOf([["VERSION", `${B}\n`], ...SMALL])));
    rig.offer(B);
    await rig.exited;
    expect(rig.drains.all.map((d) => d.why)).toEqual([`worker is updating to ${B}`]);
    expect(await stateOf(rig)).toMatchObject({ current: B, previous: null, attempts: 0 });
    expect(await findStaged(rig.dir, B)).toBe(join(rig.dir, B));
    expect(await readFile(join(rig.dir, B, "worker/b.ts"), "utf8")).toBe(SMALL[1]?.[1] ?? "");
    expect((await readdir(rig.dir)).sort()).toEqual([B, "state.json"].sort());
  });

  test("does nothing when the strings are equal, two devs among them (rules/updates#when-versions-differ)", async () => {
    const rig = await startRig({ version: "dev" });
    rig.offer("dev");
    expect(rig.updater.report()).toBeNull();
    expect(rig.fetches()).toBe(0);
  });

  for (const [off, settings] of [
    ["SVC_WORKER_AUTO_FETCH_SOURCE", { fetches: false }],
    ["SVC_WORKER_AUTO_EXIT_ON_VERSION_MISMATCH", { exits: false }],
  ] as const)
    test(`warns and stays with ${off}=0`, async () => {
      const rig = await startRig({ settings });
      rig.offer(B);
      const line = await rig.log.next((l) => l.level === "warn");
      expect(line).toMatchObject({ version: BASE, expected: B });
      expect(line.message).toContain(`${off} is 0`);
      expect(rig.updater.report()).toMatchObject({ target: B, state: "failed" });
      expect(rig.fetches()).toBe(0);
    });

  test("goes back to the program's own version, or one it still has, without a download (rules/updates#swapping-a-version)", async () => {
    const rig = await startRig({ version: B });
    rig.offer(BASE);
    await rig.exited;
    expect(await stateOf(rig)).toMatchObject({ current: null, previous: B, attempts: null });
    expect(rig.fetches()).toBe(0);
  });

  test("waits for open sessions, but no longer than SVC_WORKER_UPDATE_WAIT_S", async () => {
    const rig = await startRig({ settings: { wait_ms: 60_000 } });
    rig.serve(whole(await archiveOf(SMALL)));
    rig.sessions = 1;
    const began = rig.clock.now();
    rig.offer(B);
    await rig.log.next((l) => l.message === "the update waits for open sessions");
    expect(rig.updater.report()).toEqual({ target: B, state: "waiting", error: null });
    for (let s = 0; s < 59; s += 1) {
      await rig.clock.sleeperIn(1_000);
      await rig.clock.advance(1_000);
    }
    expect(rig.drains.all).toEqual([]);
    await rig.clock.advance(1_000);
    expect(await rig.drains.next()).toMatchObject({ until: began + 60_000 });
    await rig.exited;
  });

  test("drops an update that its hub took back while sessions were open", async () => {
    const rig = await startRig();
    rig.serve(whole(await archiveOf(SMALL)));
    rig.sessions = 1;
    rig.offer(B);
    await rig.log.next((l) => l.message === "the update waits for open sessions");
    rig.offer(BASE);
    rig.sessions = 0;
    await rig.clock.sleeperIn(1_000);
    await rig.clock.advance(1_000);
    await rig.updater.stop();
    expect(rig.drains.all).toEqual([]);
    expect(rig.updater.report()).toBeNull();
    expect((await stateOf(rig)).current).toBeNull();
  });

  test("a turn that is taken back while it waits for sessions ends without a restart", async () => {
    const rig = await startRig();
    rig.serve(whole(await archiveOf(SMALL)));
    rig.sessions = 1;
    rig.offer(B);
    await rig.log.next((l) => l.message === "the update waits for open sessions");
    rig.updater.held(B);
    rig.sessions = 0;
    await rig.clock.sleeperIn(1_000);
    await rig.clock.advance(1_000);
    await rig.updater.stop();
    expect(rig.drains.all).toEqual([]);
    expect(rig.updater.report()).toBeNull();
  });

  test("does not try a version again that failed here, until the hub offers another one", async () => {
    const rig = await startRig();
    await writeState(rig.dir, {
      ...firstState(BASE),
      bad: { version: B, reason: "it ended with exit code 1 before its handshake", at: "x" },
    });
    rig.serve(whole(await archiveOf(SMALL)));
    rig.offer(B);
    const reason = `version ${B} failed here: it ended with exit code 1 before its handshake`;
    expect(await rig.refused()).toBe(reason);
    const failed = { target: B, state: "failed", error: reason, rolled_back: true } as const;
    expect(rig.updater.report()).toEqual(failed);
    expect(rig.fetches()).toBe(0);
    // Told to wait with it is not told of another one.
    rig.updater.held(B);
    await until("its reminder", 60_000, () => rig.updater.report());
    expect(rig.updater.report()).toEqual(failed);
    rig.offer(B);
    await rig.log.next((l) => l.reason === reason);
    expect((await stateOf(rig)).bad?.version).toBe(B);
    rig.offer(BASE);
    await until("forgiveness", 60_000, async () => (await stateOf(rig)).bad === null);
    rig.offer(B);
    await rig.exited;
  });
});

describe("an archive that is not taken leaves the worker on its version, and it says why (rules/updates#what-a-worker-refuses)", () => {
  const zeros = (mib: number) => Buffer.alloc(mib * MIB);
  const rows: { name: string; says: string | RegExp; archive: () => Promise<Uint8Array> }[] = [
    {
      name: "no archive at all",
      says: "neither a tar nor a tar.gz",
      archive: async () => Buffer.from("<html>".repeat(200)),
    },
    {
      name: "a corrupt one",
      says: /damaged|cut off/,
      archive: async () => {
        const archive = await archiveOf(SMALL);
        return archive.fill(0x55, 40, 60);
      },
    },
    {
      name: "one that is cut off",
      says: "the archive is cut off",
      archive: async () => {
        const archive = await archiveOf(SMALL);
        return archive.subarray(0, archive.length - 40);
      },
    },
    {
      name: "a path that leads out of it",
      says: '"../../etc/cron.d/x" has ".." in its name',
      archive: () => archiveOf([...SMALL, ["../../etc/cron.d/x", "x"]]),
    },
    {
      name: "an absolute path",
      says: "has an absolute name",
      archive: () => archiveOf([...SMALL, ["/etc/passwd", "x"]]),
    },
    {
      name: "a symbolic link",
      says: "is a symbolic link",
      archive: () =>
        archiveOf([...SMALL, { name: "worker/l", type: "symlink", linkname: "/etc" } as TarEntry]),
    },
    {
      name: "a hard link",
      says: "is a hard link",
      archive: () =>
        archiveOf([...SMALL, { name: "worker/l", type: "link", linkname: "/etc" } as TarEntry]),
    },
    {
      name: "a device",
      says: "is a device",
      archive: () => archiveOf([...SMALL, { name: "dev/x", type: "block-device" } as TarEntry]),
    },
    {
      name: "a gzip bomb",
      says: "unpacks to more than 50 MiB",
      archive: () => archiveOf([...SMALL, ["worker/big.ts", zeros(51)]]),
    },
    {
      name: "more than 5,000 entries",
      says: "more than 5000 entries",
      archive: () =>
        archiveOf(Array.from({ length: 5_001 }, (_, i): TarEntry => [`worker/${i}.ts`, ""])),
    },
    {
      name: "other sources",
      says: `not to the expected version ${B}`,
      archive: () => archiveOf([...SMALL, ["worker/more.ts", "export {};"]]),
    },
    {
      name: "a file beside the sources that they do not name",
      says: "worker/tasks/runner.py does not match the sources",
      archive: () => archiveOf([...SMALL, ["worker/tasks/runner.py", "evil"]]),
    },
  ];
  for (const { name, says, archive } of rows)
    test(name, async () => {
      const rig = await startRig();
      rig.serve(whole(await archive()));
      rig.offer(B);
      const reason = await rig.refused();
      expect(reason).toMatch(says);
      expect(rig.updater.report()).toEqual({ target: B, state: "failed", error: reason });
      expect(rig.drains.all).toEqual([]);
      expect((await stateOf(rig)).current).toBeNull();
      expect(await readdir(rig.dir)).toEqual([]);
    });

  test("51 MB, whether the server says so or not", async () => {
    const rig = await startRig();
    const announced = whole(zeros(51));
    rig.serve(announced);
    rig.offer(B);
    expect(await rig.refused()).toContain("is larger than 50 MiB");
    rig.serve((response) => {
      response.writeHead(200);
      for (let i = 0; i < 51; i += 1) response.write(zeros(1));
      response.end();
    });
    await rig.clock.sleeperIn(30_000);
    await rig.clock.advance(30_000);
    expect(await rig.refused()).toContain("is larger than 50 MiB");
    expect(rig.fetches()).toBe(2);
    expect(await readdir(rig.dir)).toEqual([]);
  });

  test("a hub that dies in the middle is asked again, later and later", async () => {
    const rig = await startRig();
    const archive = await archiveOf(SMALL);
    rig.serve((response) => {
      response.writeHead(200, { "content-length": archive.length });
      response.write(archive.subarray(0, 100), () => response.socket?.destroy());
    });
    rig.offer(B);
    expect(await rig.refused()).toMatch(/could not fetch|cut off/);
    rig.serve((response) => void response.writeHead(503).end('{"detail":"no worker source"}'));
    await rig.clock.sleeperIn(30_000);
    await rig.clock.advance(30_000);
    await rig.clock.sleeperIn(60_000);
    rig.serve(whole(archive));
    await rig.clock.advance(60_000);
    await rig.exited;
    expect(rig.fetches()).toBe(3);
  });

  test("one that needs a package this program does not have (rules/updates#what-is-propagated)", async () => {
    const files: [string, string][] = [...SMALL, ["worker/c.ts", 'import "left-pad-of-b";\n']];
    const rig = await startRig();
    rig.serve(whole(await archiveOf(files)));
    rig.offer(versionOf(files));
    expect(await rig.refused()).toContain(
      "worker/c.ts needs the package left-pad-of-b, which this program does not have",
    );
  });

  test("a disk that is full", async () => {
    if (process.getuid?.() !== 0) return;
    const disk = await mkdtemp(join(tmpdir(), "update-disk-"));
    const mounted = Bun.spawnSync(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk]);
    try {
      if (!mounted.success) return;
      const files: [string, string][] = [...SMALL, ["worker/big.ts", `//${"x".repeat(200_000)}`]];
      const rig = await startRig({ dir: join(disk, "versions") });
      rig.serve(whole(await archiveOf(files)));
      rig.offer(versionOf(files));
      expect(await rig.refused()).toContain("the disk has no room");
      expect(await readdir(rig.dir)).toEqual([]);
    } finally {
      Bun.spawnSync(["umount", disk]);
      await rm(disk, { recursive: true });
    }
  });
});

test("the state of another program, or one that is damaged, is void", async () => {
  const rig = await startRig();
  await writeState(rig.dir, { ...firstState("another"), current: B });
  expect(await stateOf(rig)).toEqual(firstState(BASE));
  await writeFile(join(rig.dir, "state.json"), '{"base":"');
  expect(await stateOf(rig)).toEqual(firstState(BASE));
});

test("a staged version whose files were changed is not found", async () => {
  const rig = await startRig();
  rig.serve(whole(await archiveOf(SMALL)));
  rig.offer(B);
  await rig.exited;
  await writeFile(join(rig.dir, B, "worker/b.ts"), "export const b = 2;\n");
  expect(await findStaged(rig.dir, B)).toBeNull();
});

test("pruning keeps what is named and nothing else that is a version", async () => {
  const rig = await startRig();
  for (const name of ["111111111111", "222222222222", "333333333333", ".staging-x", "other"])
    await mkdir(join(rig.dir, name), { recursive: true });
  await pruneVersions(rig.dir, ["222222222222", null]);
  expect((await readdir(rig.dir)).sort()).toEqual(["222222222222", "other"]);
});

/** Own files that are loaded with `path`, whatever it is then asked to do. */
async function loadedWith(root: string, path: string, found = new Set<string>()) {
  if (found.has(path)) return found;
  found.add(path);
  const transpiler = new Bun.Transpiler({ loader: path.endsWith("x") ? "tsx" : "ts" });
  const imports = transpiler.scanImports(await Bun.file(join(root, path)).text());
  for (const { path: wanted, kind } of imports) {
    if (kind !== "import-statement" || !/^[.#]\S*\.tsx?$/.test(wanted)) continue;
    const file = wanted.startsWith("#") ? wanted.slice(1) : join(dirname(path), wanted);
    await loadedWith(root, file, found);
  }
  return found;
}

test("this program has every package its worker imports", async () => {
  const transpiler = new Bun.Transpiler({ loader: "ts" });
  const root = join(import.meta.dir, "../..");
  const missing: string[] = [];
  const named = await Bun.file(join(root, "worker/program/update/packages.ts")).text();
  // An updated version begins where the program does, and reads its variables.
  const files = await loadedWith(root, "hub/main.ts");
  for (const path of ["hub/program/variables/load.ts", "hub/program/variables/reload.ts"])
    await loadedWith(root, path, files);
  for await (const path of new Bun.Glob("{worker,shared}/**/*.ts").scan(root)) files.add(path);
  for (const path of files) {
    if (path.endsWith(".d.ts")) continue;
    const of_hub = path.startsWith("hub/");
    for (const { path: wanted, kind } of transpiler.scanImports(
      await Bun.file(join(root, path)).text(),
    )) {
      if (!/^[^.#/]/.test(wanted) || /^(node:|bun(:|$))/.test(wanted)) continue;
      // What the hub's commands load for themselves no worker runs.
      if (of_hub && kind === "dynamic-import") continue;
      if (!hasPackage(wanted) || !named.includes(`import("${wanted}"`)) missing.push(wanted);
    }
  }
  // The compiled binary has only what is written out in that list.
  expect(missing.filter((wanted) => !named.includes(`"${wanted}"`))).toEqual([]);
});

test("killed at any moment, a worker has its old version or the new one, whole", async () => {
  const rig = await startRig();
  await mkdir(rig.dir, { recursive: true });
  const more = Array.from({ length: 40 }, (_, i): [string, string] => [`hub/${i}.ts`, `//${i}`]);
  // Three, because two are kept: each is staged anew when its turn comes.
  const trees = [SMALL, [...SMALL, ...more], more];
  const given: string[] = [];
  for (const [i, files] of trees.entries()) {
    const archive = join(rig.dir, `${i}.tar.gz`);
    await writeFile(archive, await archiveOf(files));
    given.push(`${versionOf(files)}=${archive}`);
  }
  const victim = join(import.meta.dir, "../support/rigs/update-victim.ts");
  for (let kill = 0; kill < 6; kill += 1) {
    const child = Bun.spawn([process.execPath, victim, rig.dir, BASE, ...given], {
      stdout: "pipe",
    });
    await child.stdout.getReader().read();
    // Somewhere in the next rounds; where exactly is chance.
    await Bun.sleep(Math.random() * 100);
    child.kill("SIGKILL");
    await child.exited;
    const { current } = await stateOf(rig);
    expect(await findStaged(rig.dir, current ?? "none")).not.toBeNull();
  }
}, 180_000);
