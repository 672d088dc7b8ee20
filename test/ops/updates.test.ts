import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { FleetUpdates } from "#shared/protocol/schema/updates.ts";
import type { Worker } from "#shared/protocol/schema/worker.ts";
import { binaryRig } from "#test/support/rigs/binary.ts";
import { type ManagedProcess, superviseProcess, until } from "#test/support/rigs/fleet-process.ts";
import { cleanEnv, type Program, startProgram } from "#test/support/rigs/program.ts";
import { copySources, type SourceTree, stubLanes } from "#test/support/rigs/source-tree.ts";
import { freePort, lanePorts } from "#test/support/servers/ports.ts";

/**
 * A fleet of real processes whose hub goes from version to version: one that works, one that crashes, one whose browsers do not
 * start. Lanes are stubs; what is tested is who runs which code when.
 */

const binary = binaryRig();
/** A busy machine starts workers one after the other. */
const SLOW_MS = 180_000;
const PASSWORD = "a password of twelve";
const WORKERS = ["w0", "w1", "w2"];
/** Longer than several starts of a worker take here; and as short as a test may wait for a lane that never gets ready. */
const DEADLINE_S = { patient: 150, short: 40 };

let dir: string;
let works: SourceTree;
let newer: SourceTree;
let crashes: SourceTree;
let dark: SourceTree;
let hub: Program | null = null;
const managed: ManagedProcess[] = [];
const port = freePort();
const url = `http://127.0.0.1:${port}`;

const DEAD = `export const STUB_PARTS = {
  createLanePool: async ({ config }) => {
    const pool = createFakePool(config.lanes.count);
    const { lanes } = pool;
    pool.lanes = () => lanes().map((lane) => ({ ...lane, state: "dead", reason: "the browser does not start" }));
    return pool;
  },`;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "flotilla-ops-updates-"));
  works = await copySources(join(dir, "works"), await stubLanes());
  const variant = (name: string, edits: Parameters<typeof copySources>[1]) =>
    copySources(join(dir, name), edits, works.root);
  newer = await variant("newer", { "worker/newer.ts": () => "export const newer = true;\n" });
  crashes = await variant("crashes", {
    "worker/program/services.ts": (text) => `process.exit(9);\n${text}`,
  });
  dark = await variant("dark", {
    "worker/program/stub-parts.ts": (text) =>
      text.replace(/export const STUB_PARTS = \{\s*createLanePool:[^\n]*\n/, `${DEAD}\n`),
  });
}, SLOW_MS);

afterAll(async () => {
  await Promise.all(managed.map((m) => m.stop(5_000)));
  hub?.kill("SIGKILL");
  await hub?.exited;
  await rm(dir, { recursive: true, force: true });
}, SLOW_MS);

async function call<T>(path: string, body?: unknown): Promise<T> {
  const answer = await fetch(url + path, {
    signal: AbortSignal.timeout(60_000),
    ...(body !== undefined && {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    }),
  });
  return (await answer.json()) as T;
}
const workers = async () => (await call<{ workers: Worker[] }>("/workers")).workers;
const updates = () => call<FleetUpdates>("/api/v1/updates");
const canWork = ({ alive, lanes }: Worker) =>
  alive && lanes.some(({ state }) => state === "warm" || state === "running");
/** Between two jobs a lane is reset; only a worker that starts, or whose browser does not, gives no service. */
const IN_SERVICE = ["warm", "running", "resetting", "recycling"];
const serves = ({ alive, lanes }: Worker) =>
  alive && lanes.some(({ state }) => IN_SERVICE.includes(state));
const versions = async () =>
  (await workers()).filter(canWork).map(({ worker_id, version }) => `${worker_id} ${version}`);
const allAt = ({ version }: SourceTree) =>
  until(`every worker at ${version}`, SLOW_MS, async () => {
    const at = await versions().catch(() => []);
    return at.length === WORKERS.length && at.every((one) => one.endsWith(version));
  });

/** The hub of this tree in the place of the one before, with the workers back at it. */
async function serve(tree: SourceTree, deadline_s = DEADLINE_S.patient): Promise<void> {
  hub?.kill("SIGTERM");
  await hub?.exited;
  hub = startProgram([...tree.program, "hub"], {
    cwd: dir,
    env: {
      SVC_HOST: "127.0.0.1",
      SVC_PORT: String(port),
      SVC_DATA_DIR: join(dir, "hub"),
      SVC_ADMIN_PASSWORD: PASSWORD,
      SVC_UPDATE_DEADLINE_S: String(deadline_s),
    },
  });
  await until("the hub", SLOW_MS, () => call("/health").catch(() => null));
}

const fleet = (...words: string[]) =>
  binary.run(["fleet", ...words], { env: { SVC_HUB: url, SVC_ADMIN_PASSWORD: PASSWORD } });

/** Looks all the while at how many are in service, and gives them jobs. */
function watch() {
  const over = new AbortController();
  let least = Number.POSITIVE_INFINITY;
  let met = false;
  const look = async () => {
    while (!over.signal.aborted) {
      const serving = (await workers().catch(() => null))?.filter(serves).length;
      // From when the workers are back at the hub that was started anew.
      if (serving === WORKERS.length) met = true;
      if (met && serving !== undefined) least = Math.min(least, serving);
      await Bun.sleep(100);
    }
  };
  const submit = async () => {
    while (!over.signal.aborted) {
      await call("/jobs", { url: "http://site.test/" }).catch(() => null);
      await Bun.sleep(100);
    }
  };
  const loops = [look(), submit()];
  return {
    end: async () => {
      over.abort();
      await Promise.all(loops);
      return least;
    },
  };
}

test(
  "workers of the binary and of sources come to the hub's version one by one",
  async () => {
    await serve(works);
    const clean = cleanEnv() as Record<string, string>;
    for (const [i, id] of WORKERS.entries())
      managed.push(
        superviseProcess(id, [...(i === 0 ? [binary.path] : works.program), "worker"], {
          ...clean,
          ...lanePorts(),
          HUB_URL: url.replace("http", "ws"),
          SVC_WORKER_ID: id,
          SVC_DATA_DIR: join(dir, id),
          SVC_HEADLESS_LANES: "1",
          LANE_POOL: "1",
          MAX_CONCURRENT: "1",
        }),
      );
    const watched = watch();
    await allAt(works);
    await until("the end of it", SLOW_MS, async () => (await updates()).state === "up_to_date");
    await watched.end();
  },
  2 * SLOW_MS,
);

const BROKEN = [
  {
    name: "crashes",
    tree: () => crashes,
    deadline_s: DEADLINE_S.patient,
    error: "exit code 9 before its handshake",
  },
  {
    name: "starts, but whose browsers do not,",
    tree: () => dark,
    deadline_s: DEADLINE_S.short,
    error: "the browser does not start",
  },
];
for (const { name, tree, deadline_s, error } of BROKEN)
  test(
    `a version that ${name} costs the fleet one worker, for as long as it takes to go back`,
    async () => {
      await serve(tree(), deadline_s);
      const watched = watch();
      await until("the stop", SLOW_MS, async () => (await updates()).state === "stopped");
      const { failure, target } = await updates();
      expect(target).toBe(tree().version);
      expect(failure?.error).toContain(error);
      // The canary is brought back, and nobody else has left.
      await allAt(works);
      const failed = (await workers()).filter(({ update }) => update?.state === "failed");
      expect(failed.map(({ worker_id }) => worker_id)).toEqual([failure?.worker_id ?? ""]);
      expect(failed[0]?.update?.error).toContain(error);
      const status = await fleet("status");
      expect(status.stdout).toContain("stopped: ");
      expect(status.stdout).toContain(error);
      expect(await watched.end()).toBeGreaterThanOrEqual(WORKERS.length - 1);
      expect(hub?.stderr).toContain("an update failed: the others keep their version");
    },
    2 * SLOW_MS,
  );

test(
  "paused nobody goes; resumed one after the other does; a pin takes them back, whatever the hub has",
  async () => {
    expect((await fleet("pause-updates")).code).toBe(0);
    await serve(newer);
    const watched = watch();
    await until("the hold", SLOW_MS, async () => {
      const held = (await workers()).filter(({ update }) => update?.state === "held");
      return held.length === WORKERS.length && (await updates()).state === "paused";
    });
    await allAt(works);
    expect((await fleet("resume-updates")).code).toBe(0);
    await allAt(newer);
    await until("the end of it", SLOW_MS, async () => (await updates()).state === "up_to_date");
    const pinned = await fleet("pin", works.version);
    expect(pinned.code).toBe(0);
    await allAt(works);
    expect(await updates()).toMatchObject({ pin: works.version, hub_versions: [newer.version] });
    expect(await watched.end()).toBeGreaterThanOrEqual(WORKERS.length - 1);
    expect((await fleet("pin", "000000000000")).code).toBe(2);
  },
  2 * SLOW_MS,
);
