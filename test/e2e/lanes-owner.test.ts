import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { systemClock } from "#shared/kit/clock.ts";
import { silentLog } from "#shared/kit/log.ts";
import { isAlive, listProcesses, readProc, readStat } from "#shared/kit/proc.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import {
  laneEnv,
  lastingOf,
  makeDataDir,
  noZombie,
  processesOf,
  runDirs,
  withPool,
} from "#test/support/rigs/lane-pool.ts";
import { createLanePool, DataDirInUseError } from "#worker/browser/lanes/pool.ts";
import { loadWorkerConfig } from "#worker/config.ts";

const SLOW_MS = 180_000;
const OWNER = join(import.meta.dir, "../support/rigs/own-pool.ts");
const as_root = process.getuid?.() === 0;

/** A process that owns a pool; `line` is `up` or its error. */
async function startOwner(env: Record<string, string>) {
  const child = Bun.spawn([process.execPath, OWNER], {
    env,
    stdout: "pipe",
    stderr: "ignore",
    stdin: "ignore",
  });
  const reader = child.stdout.getReader();
  const { value } = await reader.read();
  const line = new TextDecoder().decode(value).trim();
  const kill = async () => {
    child.kill("SIGKILL");
    await child.exited;
    await reader.cancel();
  };
  return { pid: child.pid, line, kill };
}

const guardianIfAny = (worker: number): number | undefined =>
  listProcesses().find(
    ({ pid, ppid }) =>
      ppid === worker && readProc(pid, "cmdline")?.includes("flotilla-guardian") === true,
  )?.pid;
const guardianOf = (worker: number): number => {
  const pid = guardianIfAny(worker);
  if (pid === undefined) throw new Error("the worker has no guardian");
  return pid;
};

test(
  "kill -9 of a worker takes everything of its lanes along: Chromium with its helpers, Xvnc, and what they have started",
  async () => {
    const data_dir = makeDataDir();
    const env = laneEnv(data_dir, { LANE_POOL: "2" });
    const owner = await startOwner(env);
    expect(owner.line).toBe("up");
    const theirs = processesOf(data_dir);
    const names = new Set(theirs.map(({ comm }) => comm));
    expect([names.has("chromium"), names.has("Xvnc")]).toEqual([true, true]);
    const pids = theirs.map(({ pid }) => pid);
    const guardian = guardianOf(owner.pid);
    // The ones that hang cannot end by themselves.
    for (const pid of pids.filter((_, i) => i % 2 === 0)) process.kill(pid, "SIGSTOP");
    await owner.kill();
    await until("the end of the guardian", 60_000, () => !isAlive(readStat(guardian)));
    // A killed process goes when the machine gets to it.
    const left = () => [...pids.filter((pid) => isAlive(readStat(pid))), ...processesOf(data_dir)];
    await until("the end of everything", 60_000, () => left().length === 0);
    rmSync(data_dir, { recursive: true });
  },
  SLOW_MS,
);

test(
  "a guardian that is killed is replaced, and one of an earlier worker spares the next one's lanes",
  async () => {
    const data_dir = makeDataDir();
    const env = laneEnv(data_dir, { LANE_POOL: "1", SVC_HEADLESS_LANES: "1" });
    const first = await startOwner(env);
    const old = guardianOf(first.pid);
    process.kill(old, "SIGSTOP");
    await first.kill();
    const second = await startOwner(env);
    expect(second.line).toBe("up");
    const pids = lastingOf(data_dir);
    expect(pids).not.toBeEmpty();
    process.kill(old, "SIGCONT");
    await until("the end of the old guardian", 60_000, () => !isAlive(readStat(old)));
    expect(pids.filter((pid) => !isAlive(readStat(pid)))).toEqual([]);
    const guardian = guardianOf(second.pid);
    process.kill(guardian, "SIGKILL");
    const next = await until("another guardian", 60_000, () => {
      const pid = guardianIfAny(second.pid);
      return pid !== guardian ? pid : null;
    });
    await second.kill();
    await until("the end of the new guardian", 60_000, () => !isAlive(readStat(next)));
    await until("the end of everything", 60_000, () => processesOf(data_dir).length === 0);
    rmSync(data_dir, { recursive: true });
  },
  SLOW_MS,
);

describe("one data directory, one worker", () => {
  test(
    "a second worker on the same directory is refused, naming the directory and the owner",
    async () => {
      await withPool({ LANE_POOL: "1", SVC_HEADLESS_LANES: "1" }, async ({ data_dir, pool }) => {
        const second = await withPoolError({ SVC_DATA_DIR: data_dir });
        expect(second).toBeInstanceOf(DataDirInUseError);
        const other = await startOwner(laneEnv(data_dir, { SVC_HEADLESS_LANES: "1" }));
        await other.kill();
        expect(other.line).toBe(
          `DataDirInUseError: SVC_DATA_DIR: ${data_dir} is in use by another worker (pid ${process.pid})`,
        );
        expect(pool.lanes()[0]?.state).toBe("warm");
      });
    },
    SLOW_MS,
  );

  test(
    "two workers on one machine never end each other's lanes",
    async () => {
      await withPool({ LANE_POOL: "1", SVC_HEADLESS_LANES: "1" }, async (first) => {
        const pids = lastingOf(first.data_dir);
        expect(pids).not.toBeEmpty();
        await withPool({ LANE_POOL: "1", SVC_HEADLESS_LANES: "1" }, async (second) => {
          expect(processesOf(second.data_dir).length).toBeGreaterThan(0);
        });
        expect(pids.every((pid) => isAlive(readStat(pid)))).toBe(true);
        expect(first.pool.lanes()[0]?.state).toBe("warm");
      });
    },
    SLOW_MS,
  );

  test(
    "after kill -9 of a worker the next one ends its processes, removes its directories and reuses its displays",
    async () => {
      const data_dir = makeDataDir();
      const env = laneEnv(data_dir, { LANE_POOL: "2" });
      const owner = await startOwner(env);
      expect(owner.line).toBe("up");
      // Stopped, and without their guardian, they cannot notice that their worker is gone, and stay for the sweep.
      const left = processesOf(data_dir).map((p) => p.pid);
      for (const pid of left) process.kill(pid, "SIGSTOP");
      process.kill(owner.pid, "SIGSTOP");
      process.kill(guardianOf(owner.pid), "SIGKILL");
      const dirs = runDirs(data_dir);
      expect([left.length > 4, dirs.length]).toEqual([true, 2]);
      await owner.kill();
      writeFileSync(join(data_dir, "kept"), "not ours to remove");
      await withPool(env, async ({ pool }) => {
        expect(left.filter((pid) => isAlive(readStat(pid)))).toEqual([]);
        expect(pool.lanes().map((l) => l.state)).toEqual(["warm", "warm"]);
        expect(runDirs(data_dir)).toHaveLength(2);
        expect(existsSync(join(data_dir, "kept"))).toBe(true);
      });
      await noZombie();
    },
    SLOW_MS,
  );
});

test(
  "a pool that is stopped while it starts leaves nothing",
  async () => {
    const data_dir = makeDataDir();
    const config = loadWorkerConfig(laneEnv(data_dir, { LANE_POOL: "2" }), {});
    const abort = new AbortController();
    const opening = createLanePool({
      config,
      log: silentLog,
      clock: systemClock,
      signal: abort.signal,
    }).catch((err) => err);
    while (runDirs(data_dir).length === 0) await Bun.sleep(1); // until a Chromium is on its way
    abort.abort();
    expect(await opening).toMatchObject({ message: "stopped while the lanes were starting" });
    expect(processesOf(data_dir)).toEqual([]);
    expect(runDirs(data_dir)).toEqual([]);
    rmSync(data_dir, { recursive: true });
  },
  SLOW_MS,
);

describe("where a run lives", () => {
  test(
    "everything of a run is below its own directory, and Chromium sees no secret",
    async () => {
      await withPool(
        { LANE_POOL: "1", SVC_HEADLESS_LANES: "1", WORKER_SECRET: "hush" },
        async ({ pool, data_dir }) => {
          const hold = pool.hold(0, { job_id: "j", session_id: "s" });
          const browser = await hold?.browser({ headless: true });
          for (const dir of Object.values(browser?.dirs ?? {}))
            expect(dir.startsWith(`${data_dir}/lanes/runs/`)).toBe(true);
          const preferences = join(browser?.dirs.user_data ?? "", "Default/Preferences");
          expect(JSON.parse(readFileSync(preferences, "utf8"))).toMatchObject({
            credentials_enable_service: false,
          });
          expect(readFileSync(`/proc/${browser?.pid}/environ`, "latin1")).not.toContain("hush");
          await hold?.release();
        },
      );
    },
    SLOW_MS,
  );

  test(
    "a data directory too deep for Chromium's socket gets its TMPDIR elsewhere, removed as well",
    async () => {
      const root = makeDataDir();
      const data_dir = join(root, "d".repeat(90));
      mkdirSync(data_dir);
      let tmp = "";
      await withPool(
        { LANE_POOL: "1", SVC_HEADLESS_LANES: "1", SVC_DATA_DIR: data_dir },
        async ({ pool }) => {
          const hold = pool.hold(0, { job_id: "j", session_id: "s" });
          tmp = (await hold?.browser({ headless: true }))?.dirs.tmp ?? "";
          expect(tmp.startsWith(`${tmpdir()}/flotilla-`)).toBe(true);
          await hold?.release();
          expect(existsSync(tmp)).toBe(false);
        },
      );
      expect(existsSync(join(tmp, ".."))).toBe(false);
      rmSync(root, { recursive: true });
    },
    SLOW_MS,
  );
});

describe("sandbox", () => {
  test(
    "SVC_BROWSER_USER: root's Chromium runs as that user with its sandbox on, and the lane says so",
    async () => {
      const data_dir = makeDataDir();
      const env = { LANE_POOL: "1", SVC_BROWSER_USER: "nobody", SVC_DATA_DIR: data_dir };
      if (!as_root) {
        expect(await withPoolError(env)).toMatchObject({
          message: expect.stringMatching(/^SVC_BROWSER_USER: only root/),
        });
        return rmSync(data_dir, { recursive: true });
      }
      await withPool(env, async ({ pool }) => {
        expect(pool.lanes()[0]).toMatchObject({ state: "warm", sandbox: "on", mode: "headful" });
        const hold = pool.hold(0, { job_id: "j", session_id: "s" });
        const browser = await hold?.browser({ headless: false });
        const status = readFileSync(`/proc/${browser?.pid}/status`, "utf8");
        expect(/^Uid:\s+(\d+)/m.exec(status)?.[1]).not.toBe("0");
        expect(/^Groups:[ \t]*(.*)$/m.exec(status)?.[1]).toBe("");
        expect(readFileSync(`/proc/${browser?.pid}/cmdline`, "latin1")).not.toContain(
          "--no-sandbox",
        );
        await hold?.release();
        expect(existsSync(browser?.dirs.root ?? "/")).toBe(false);
      });
    },
    SLOW_MS,
  );

  test(
    "below a data directory that the browser's user cannot enter, its files lie in /var/tmp and go with the worker",
    async () => {
      let root = "";
      const data_dir = makeDataDir();
      chmodSync(data_dir, 0o700);
      await withPool({ LANE_POOL: "1", SVC_DATA_DIR: data_dir }, async ({ pool }) => {
        const hold = pool.hold(0, { job_id: "j", session_id: "s" });
        const browser = await hold?.browser({ headless: false });
        root = browser?.dirs.root ?? "";
        expect(root.startsWith(as_root ? "/var/tmp/flotilla-" : data_dir)).toBe(true);
        await hold?.release();
      });
      expect(existsSync(dirname(root))).toBe(false);
    },
    SLOW_MS,
  );

  test(
    "SVC_BROWSER_SANDBOX=off: Chromium runs as the worker does, and the lane says so",
    async () => {
      const env = { LANE_POOL: "1", SVC_HEADLESS_LANES: "1", SVC_BROWSER_SANDBOX: "off" };
      await withPool(env, async ({ pool }) => {
        const hold = pool.hold(0, { job_id: "j", session_id: "s" });
        const browser = await hold?.browser({ headless: true });
        const command = readFileSync(`/proc/${browser?.pid}/cmdline`, "latin1");
        expect(command).toContain("--no-sandbox");
        expect(pool.lanes()[0]?.sandbox).toBe("off");
        await hold?.release();
      });
    },
    SLOW_MS,
  );

  test(
    "where Chromium gets no sandbox the worker does not start, and names the way to do without",
    async () => {
      const data_dir = makeDataDir();
      const program = join(data_dir, "chromium-without-namespaces");
      // No set-user-id helper and no namespaces of its own.
      const bwrap = "bwrap --unshare-user --disable-userns --dev-bind / / --";
      writeFileSync(program, `#!/bin/sh\nexec ${bwrap} chromium "$@"\n`, { mode: 0o755 });
      const env = { LANE_POOL: "1", SVC_HEADLESS_LANES: "1", SVC_CHROMIUM: program };
      const err = await withPoolError({ ...env, SVC_DATA_DIR: data_dir });
      rmSync(data_dir, { recursive: true, force: true });
      expect(err).toMatchObject({
        name: "ConfigError",
        message: expect.stringMatching(/^Chromium gets no sandbox.*SVC_BROWSER_SANDBOX=off$/),
      });
    },
    SLOW_MS,
  );
});

/** What opening a pool with `env` fails with. The directory stays when it is another pool's. */
async function withPoolError(env: Record<string, string>): Promise<unknown> {
  const config = loadWorkerConfig(laneEnv(env.SVC_DATA_DIR ?? "", env), {});
  return createLanePool({ config, log: silentLog, clock: systemClock }).then(
    async (pool) => {
      await pool.close();
      return new Error("a pool was opened");
    },
    (err) => err,
  );
}
