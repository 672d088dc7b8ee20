import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { packSources } from "#hub/fleet/update/pack-sources.ts";
import { silentLog } from "#shared/kit/log.ts";
import type { Job } from "#shared/protocol/schema/job.ts";
import type { Worker } from "#shared/protocol/schema/worker.ts";
import { type ManagedProcess, superviseProcess, until } from "#test/support/rigs/fleet-process.ts";
import { cleanEnv, type Program, startProgram } from "#test/support/rigs/program.ts";
import { copySources, type SourceTree, stubLanes } from "#test/support/rigs/source-tree.ts";
import { freePort, lanePorts } from "#test/support/servers/ports.ts";
import { readState, type UpdateState } from "#worker/program/update/state.ts";
import { ensureBinary } from "../../scripts/build.ts";

/**
 * Workers as real processes that follow their hub from version to version. Lanes are stubs: what is tested is which code
 * runs. `UPDATE_ROUNDS` is how often the fleet goes there and back (1; more in the long form).
 */

const ROUNDS = Number(process.env.UPDATE_ROUNDS ?? 1);
/** A busy machine starts four workers one after the other. */
const SLOW_MS = 120_000;

let dir: string;
let a: SourceTree;
let b: SourceTree;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "flotilla-update-"));
  a = await copySources(join(dir, "a"), await stubLanes());
  b = await copySources(
    join(dir, "b"),
    { "worker/newer.ts": () => "export const newer = true;\n" },
    a.root,
  );
}, SLOW_MS);

let programs: Program[] = [];
const managed: ManagedProcess[] = [];
afterEach(async () => {
  for (const program of programs) program.kill("SIGKILL");
  await Promise.all(programs.map((p) => p.exited));
  programs = [];
});
afterAll(async () => {
  await Promise.all(managed.map((m) => m.stop()));
  await rm(dir, { recursive: true, force: true });
}, SLOW_MS);

function start(argv: string[], env: Record<string, string> = {}): Program {
  const program = startProgram(argv, { cwd: dir, env });
  programs.push(program);
  return program;
}

/** A hub of one answer: it registers every worker, says which version it has and serves the archive of a tree. */
function startAnswer(tree: SourceTree, options: { registers: (version: string) => boolean }) {
  let seen: string[] = [];
  const packed = packSources(tree.root);
  const server = Bun.serve<{ version: string }>({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request, self) => {
      const { pathname } = new URL(request.url);
      if (pathname === "/worker-source.tar.gz") return new Response((await packed).archive.slice());
      if (pathname === "/health") return Response.json({ status: "ok", version: tree.version });
      if (self.upgrade(request, { data: { version: "" } })) return undefined;
      return new Response("", { status: 404 });
    },
    websocket: {
      message: (ws, raw) => {
        const frame = JSON.parse(String(raw));
        if (frame.type !== "registration") return;
        seen = [...seen, frame.version];
        if (!options.registers(frame.version)) return;
        ws.send(
          JSON.stringify({
            type: "HubRegistered",
            expected_worker_version: tree.version,
            upload_token: "t",
            public_base_url: null,
            heartbeat_interval_ms: 15_000,
          }),
        );
      },
    },
  });
  return {
    url: `ws://127.0.0.1:${server.port}`,
    /** Versions in the order they registered. */
    seen: () => seen,
    stop: () => server.stop(true),
  };
}

const workerArgs = (url: string, data: string) => [
  "worker",
  "--hub-url",
  url,
  "--worker-id",
  "w1",
  "--data-dir",
  join(dir, data),
];
const stateOf = (data: string, base: string): Promise<UpdateState> =>
  readState(join(dir, data, "versions"), base, silentLog);

describe("a version that does not work is rolled back, and the worker says why", () => {
  const broken: [string, string, Record<string, string>, string][] = [
    ["ends at once", "process.exit(9);\n", {}, "exit code 9 before its handshake"],
    ["does not load", 'import "./is-not-there.ts";\n', {}, "before its handshake"],
    [
      "never shakes hands",
      "await new Promise(() => setInterval(() => {}, 1_000));\n",
      { SVC_WORKER_HANDSHAKE_TIMEOUT_S: "1" },
      "no handshake within 1 s",
    ],
  ];
  for (const [name, code, env, reason] of broken)
    test(
      `one that ${name}`,
      async () => {
        const data = `broken ${name}`;
        const tree = await copySources(
          join(dir, `tree ${name}`),
          { "worker/program/services.ts": (text) => code + text },
          a.root,
        );
        const hub = startAnswer(tree, { registers: () => true });
        try {
          const worker = start([...a.program, ...workerArgs(hub.url, data)], env);
          await worker.says(`version ${tree.version} failed here`, SLOW_MS);
          expect(worker.stderr).toContain(reason);
          expect(worker.stderr.match(/"starting an updated version"/g)).toHaveLength(2);
          const state = await stateOf(data, a.version);
          expect(state).toMatchObject({ current: null, bad: { version: tree.version } });
          expect(state.bad?.reason).toContain(reason);
          // The old version works on.
          expect(hub.seen()).toEqual([a.version, a.version]);
          worker.kill("SIGTERM");
          expect(await worker.exited).toBe(0);
        } finally {
          await hub.stop();
        }
      },
      2 * SLOW_MS,
    );
});

test(
  "with SVC_WORKER_SELF_RESTART=0 the worker exits with 42 and its supervisor starts the new version (rules/updates#exit-42)",
  async () => {
    const hub = startAnswer(b, { registers: () => true });
    try {
      const argv = [...a.program, ...workerArgs(hub.url, "supervised")];
      const env = { SVC_WORKER_SELF_RESTART: "0" };
      expect(await start(argv, env).exited).toBe(42);
      const again = start(argv, env);
      await again.says("the updated version has registered", SLOW_MS);
      expect(hub.seen()).toEqual([a.version, b.version]);
      again.kill("SIGTERM");
      expect(await again.exited).toBe(0);
      // Once it had its handshake it needs nobody who watches it.
      const third = start(argv, env);
      await until("its registration", SLOW_MS, () => hub.seen().length === 3);
      expect(hub.seen()[2]).toBe(b.version);
      expect(third.stderr).not.toContain("starting an updated version");
      third.kill("SIGTERM");
      expect(await third.exited).toBe(0);
    } finally {
      await hub.stop();
    }
  },
  2 * SLOW_MS,
);

test(
  "a launcher that is killed takes the version on trial with it",
  async () => {
    const hub = startAnswer(b, { registers: (version) => version === a.version });
    try {
      const worker = start([...a.program, ...workerArgs(hub.url, "orphan")]);
      await until("the updated version", SLOW_MS, () => hub.seen().includes(b.version));
      const children = await Bun.file(`/proc/${worker.pid}/task/${worker.pid}/children`).text();
      const child = Number(children.trim());
      expect(child).toBeGreaterThan(1);
      worker.kill("SIGKILL");
      await until("its end", 60_000, async () => !(await Bun.file(`/proc/${child}/stat`).exists()));
    } finally {
      await hub.stop();
    }
  },
  2 * SLOW_MS,
);

test(
  "a fleet of four follows its hub to another version and back while jobs run, and none fails (rules/updates#single-target)",
  async () => {
    const flotilla = await ensureBinary();
    const port = freePort();
    const url = `http://127.0.0.1:${port}`;
    const hubEnv = {
      SVC_HOST: "127.0.0.1",
      SVC_PORT: String(port),
      SVC_DATA_DIR: join(dir, "hub"),
      SVC_QUEUE_REDRIVE_INTERVAL_S: "1",
      SVC_QUEUE_REDRIVE_MIN_AGE_S: "1",
      // The canary goes alone, the others two at a time.
      SVC_UPDATE_PARALLEL: "2",
    };
    const startHub = (tree: SourceTree) => start([...tree.program, "hub"], hubEnv);
    const call = async (path: string, body?: unknown) => {
      const answer = await fetch(url + path, {
        signal: AbortSignal.timeout(60_000),
        ...(body === undefined
          ? {}
          : {
              method: "POST",
              headers: { "content-type": "application/json" },
              body: JSON.stringify(body),
            }),
      });
      return (await answer.json()) as Record<string, unknown>;
    };
    const workers = async () => (await call("/workers")).workers as Worker[];
    const allAt = (version: string) =>
      until(`four workers at ${version}`, 3 * SLOW_MS, async () => {
        const alive = (await workers().catch(() => [])).filter((w) => w.alive);
        return alive.length === 4 && alive.every((w) => w.version === version);
      });

    let hub = startHub(a);
    const clean = cleanEnv() as Record<string, string>;
    for (const [i, program] of [[flotilla], [flotilla], a.program, a.program].entries())
      managed.push(
        superviseProcess(`w${i}`, [...program, "worker"], {
          ...clean,
          ...lanePorts(),
          HUB_URL: url.replace("http", "ws"),
          SVC_WORKER_ID: `w${i}`,
          SVC_DATA_DIR: join(dir, `w${i}`),
          SVC_HEADLESS_LANES: "1",
          LANE_POOL: "1",
          MAX_CONCURRENT: "1",
        }),
      );

    const site = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("hello") });
    const submitted: string[] = [];
    let submitting = false;
    // Two of the workers have real browsers until they follow their hub.
    const submit = async () => {
      while (submitting) {
        const answer = await call("/jobs", { url: site.url.href }).catch(() => null);
        if (answer?.job_id) submitted.push(String(answer.job_id));
        await Bun.sleep(400);
      }
    };
    /** With jobs all the while: lanes of a stub take no session, so that a canary shows by jobs that its version works. */
    const allAtWithJobs = async (version: string) => {
      submitting = true;
      const submitters = [submit(), submit()];
      await allAt(version);
      submitting = false;
      await Promise.all(submitters);
    };
    const drained = () =>
      until("the end of every job", SLOW_MS, async () => {
        const { jobs } = await call("/jobs?status=running");
        const queued = (await call("/jobs?status=queued")).jobs as Job[];
        return (jobs as Job[]).length === 0 && queued.length === 0;
      });
    await allAtWithJobs(a.version);
    for (let round = 0; round < ROUNDS; round += 1)
      for (const tree of [b, a]) {
        // Jobs that run when their only hub ends are its restart's (rules/jobs#hub-restarts), not the update's.
        await drained();
        hub.kill("SIGTERM");
        await hub.exited;
        hub = startHub(tree);
        await until("the hub", SLOW_MS, () => call("/health").catch(() => null));
        await allAtWithJobs(tree.version);
      }
    await drained();
    const jobs = (await Promise.all(
      submitted.map((id) => call(`/jobs/${id}`)),
    )) as unknown as Job[];
    expect(jobs.filter((job) => job.status !== "completed").map((job) => job.error)).toEqual([]);
    expect(jobs.length).toBeGreaterThan(4);
    await until("the end of every turn", SLOW_MS, async () =>
      (await workers()).every(({ update }) => !update),
    );
    await site.stop(true);
  },
  3 * SLOW_MS * (2 + 2 * ROUNDS),
);
