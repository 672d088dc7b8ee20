import { expect } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Job } from "#shared/protocol/schema/job.ts";
import type { Run } from "#shared/protocol/schema/queue.ts";
import type { Worker } from "#shared/protocol/schema/worker.ts";
import { startSite } from "../servers/loaded-site.ts";
import { freePort, lanePorts } from "../servers/ports.ts";
import type { BinaryRig } from "./binary.ts";
import { until } from "./fleet-process.ts";
import { type Watched, watchCalls, watchCdp, watchViewer } from "./interruptions.ts";
import type { Program } from "./program.ts";

/**
 * A hub, two browser workers and a pull worker as an operator runs them, with jobs and tasks that run and that wait, and an open
 * session with a person in the viewer and a CDP client. FLOTILLA_UPGRADE_JOBS and FLOTILLA_UPGRADE_TASKS make the load larger.
 */

export const JOBS = Number(process.env.FLOTILLA_UPGRADE_JOBS ?? 8);
const TASKS = Number(process.env.FLOTILLA_UPGRADE_TASKS ?? 30);
/** Two for jobs and one for the session, on two workers. */
const LANES = { w1: 2, w2: 1 };
export const BROWSER_WORKERS = Object.keys(LANES);
export const PULL_WORKER = "pull";
export const AT_WORK = 2;
const ALL_LANES = AT_WORK + 1;
/** A busy machine opens a page in its own time. */
export const SLOW_MS = 120_000;
export const ALL_MS = SLOW_MS + (JOBS + TASKS) * 3_000;
const CALL_MS = 60_000;
const DRAIN_S = 2;

/** `binary`: of another version; the rig's own when left out. */
export interface FleetUnderLoad {
  readonly dir: string;
  readonly url: string;
  readonly site: ReturnType<typeof startSite>;
  readonly hub: Program;
  readonly workers: ReadonlyMap<string, Program>;
  worker(id: string): Program;
  /** Everything, until every lane is warm. */
  start(binary?: string): Promise<void>;
  /** Ends what the tests left and removes its data. */
  remove(): Promise<void>;
  startHub(binary?: string): void;
  /** @param id one of BROWSER_WORKERS or PULL_WORKER; the same directory and ports at every start. */
  startWorker(id: string, binary?: string): void;
  send(method: string, path: string, body?: unknown): ReturnType<typeof call>;
  browserWorkers(): Promise<Worker[]>;
  everyLaneWarm(): Promise<void>;
  runningJobs(): Promise<number>;
  submitJobs(names: string[]): Promise<string[]>;
  /** Each task writes its key into `log` when it is run. @returns the keys. */
  submitTasks(slug: string, log: string): Promise<string[]>;
  openSession(page: string): Promise<{ path: string; watched: Watched[] }>;
  /** Resolves when each of `watched` was answered once from now on. */
  within(what: string, watched: Watched[]): Promise<unknown>;
  ended(job_id: string): Promise<Job>;
  runsOf(slug: string): Promise<Run[]>;
  /** Each task of `pks` was run once, and well. @returns how many there are. */
  everyTaskDone(slug: string, pks: string[], log: string): Promise<number>;
}

async function call(method: string, url: string, body?: unknown) {
  const answer = await fetch(url, {
    method,
    signal: AbortSignal.timeout(CALL_MS),
    ...(body !== undefined && {
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    }),
  });
  const text = await answer.text();
  return { status: answer.status, body: text === "" ? null : JSON.parse(text) };
}

export function fleetUnderLoad(flotilla: BinaryRig, name: string): FleetUnderLoad {
  const dir = mkdtempSync(join(tmpdir(), `flotilla-ops-${name}-`));
  const site = startSite();
  const port = freePort();
  const url = `http://127.0.0.1:${port}`;
  const ws_url = `ws://127.0.0.1:${port}`;
  const workers = new Map<string, Program>();
  const ports = new Map(BROWSER_WORKERS.map((id) => [id, lanePorts()]));
  let hub: Program;

  const startHub = (binary?: string) => {
    const env = {
      SVC_DATA_DIR: join(dir, "hub"),
      SVC_DRAIN_TIMEOUT_S: String(DRAIN_S),
      SVC_SUBMIT_WAIT_S: "1",
      // A long queue and a slow machine are no defects here.
      SVC_QUEUE_TIMEOUT_S: "1800",
      SVC_LINK_GRACE_S: "60",
    };
    const argv = ["hub", "--host", "127.0.0.1", "--port", String(port)];
    hub = flotilla.start(argv, { cwd: dir, env, binary });
  };
  const startWorker = (id: string, binary?: string) => {
    const lanes = LANES[id as keyof typeof LANES];
    const argv =
      lanes === undefined
        ? ["worker", "--control-url", url, "--slots", "2"]
        : ["worker", "--hub-url", ws_url, "--lanes", String(lanes), "--headless-lanes"];
    const env = { ...ports.get(id), SVC_WORKER_ID: id, SVC_DATA_DIR: join(dir, id) };
    workers.set(id, flotilla.start(argv, { cwd: dir, env, binary }));
  };

  const send: FleetUnderLoad["send"] = (method, path, body) => call(method, url + path, body);
  const browserWorkers = async () => (await send("GET", "/workers")).body.workers as Worker[];
  const everyLaneWarm = () =>
    until("warm lanes", SLOW_MS, async () => {
      const lanes = (await browserWorkers()).flatMap((worker) => worker.lanes);
      return lanes.filter(({ state }) => state === "warm").length === ALL_LANES;
    }).then(() => {});

  /** Running or queued, the hub has it: 503 carries its id too. */
  const submitJob = async (of: string): Promise<string> => {
    const options = { headless: true, idle_seconds: 0.2, wait_seconds: 600, max_wait_seconds: 600 };
    const { body } = await send("POST", "/jobs", { url: `${site.origin}/job/${of}`, options });
    expect(body.job_id).toBeString();
    return body.job_id;
  };
  const runsOf = async (slug: string): Promise<Run[]> =>
    (await send("GET", `/api/v1/workloads/${slug}/runs?limit=500`)).body.runs;

  return {
    dir,
    url,
    site,
    get hub() {
      return hub;
    },
    workers,
    worker: (id) => {
      const worker = workers.get(id);
      if (worker === undefined) throw new Error(`there is no worker ${id}`);
      return worker;
    },
    start: async (binary) => {
      startHub(binary);
      await hub.says("hub started", SLOW_MS);
      for (const id of [...BROWSER_WORKERS, PULL_WORKER]) startWorker(id, binary);
      await everyLaneWarm();
    },
    remove: async () => {
      await site.stop();
      rmSync(dir, { recursive: true, force: true });
    },
    startHub,
    startWorker,
    send,
    browserWorkers,
    everyLaneWarm,
    runningJobs: async () => (await send("GET", "/jobs?status=running")).body.jobs.length,
    submitJobs: (names) => Promise.all(names.map(submitJob)),
    submitTasks: async (slug, log) => {
      const script = `read -r task; sleep 0.5; echo "$task" >> '${log}'; echo 1`;
      const executor_config = { argv: ["sh", "-c", script] };
      await send("POST", "/api/v1/workloads", { slug, executor_type: "command", executor_config });
      const pks = Array.from({ length: TASKS }, (_, n) => `${slug}-${n}`);
      const items = pks.map((pk) => ({ pk }));
      const { body } = await send("POST", `/api/v1/workloads/${slug}/tasks/batch`, { items });
      expect(body.submitted).toBe(TASKS);
      return pks;
    },
    openSession: async (page) => {
      const { status, body } = await send("POST", "/sessions", {
        headless: true,
        url: `${site.origin}/${page}`,
        idle_ttl_s: 3_000,
        ttl_s: 3_600,
      });
      expect({ status, body }).toMatchObject({ status: 201 });
      const path = `/sessions/${body.session_id}`;
      const evaluate = (code: string) => send("POST", `${path}/evaluate`, { code });
      expect((await evaluate(`mark = "${page}"`)).status).toBe(200);
      const asksMark = async () => {
        const { status: got, body: answer } = await evaluate("mark");
        if (got !== 200 || answer.result !== page)
          throw new Error(`session: ${got} ${JSON.stringify(answer)}`);
      };
      const watched = [
        watchHealth(send),
        watchCalls("session", asksMark),
        watchCdp(`${ws_url}${path}/cdp`, "mark", page),
        watchViewer(`${ws_url}${path}/novnc/websockify`),
      ];
      return { path, watched };
    },
    within: (what, watched) =>
      Promise.race([
        Promise.all(watched.map((one) => one.answers())),
        Bun.sleep(SLOW_MS).then(() => {
          const said = watched.map((one) => [one.name, ...one.troubles].join("\n  "));
          throw new Error(`${what}: somebody is not answered\n${said.join("\n")}\n${hub.stderr}`);
        }),
      ]),
    ended: (job_id) =>
      until(`the end of job ${job_id}`, ALL_MS, async () => {
        const { body } = await send("GET", `/jobs/${job_id}`);
        return ["queued", "running"].includes(body.status) ? null : (body as Job);
      }),
    runsOf,
    everyTaskDone: async (slug, pks, log) => {
      await until("every run", ALL_MS, async () => (await runsOf(slug)).length >= pks.length);
      const runs = await runsOf(slug);
      expect(runs.filter(({ success }) => !success)).toEqual([]);
      expect(runs.map(({ pk }) => pk).sort()).toEqual([...pks].sort());
      const lines = readFileSync(log, "utf8").trim().split("\n");
      expect(new Set(lines).size).toBe(lines.length);
      expect(lines).toHaveLength(pks.length);
      return runs.length;
    },
  };
}

/** A program that asks the API for anything at all. */
export const watchHealth = (send: FleetUnderLoad["send"]): Watched =>
  watchCalls("API", async () => {
    const answer = await send("GET", "/health");
    if (answer.status !== 200) throw new Error(`health: ${answer.status}`);
  });

export const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;
