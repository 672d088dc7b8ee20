import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Job } from "#shared/schema/job.ts";
import type { Run } from "#shared/schema/queue.ts";
import type { Worker } from "#shared/schema/worker.ts";
import { binaryRig } from "#test/support/binary.ts";
import { until } from "#test/support/fleet-process.ts";
import { type Watched, watchCalls, watchCdp, watchViewer } from "#test/support/interruptions.ts";
import { freePort, lanePorts } from "#test/support/ports.ts";
import type { Program } from "#test/support/program.ts";

/**
 * A hub that is stopped, or killed, under load and started again on its data: jobs and tasks that run and that wait, and an open
 * session with a person in the viewer and a CDP client. FLOTILLA_UPGRADE_JOBS and FLOTILLA_UPGRADE_TASKS make the load larger.
 */

const JOBS = Number(process.env.FLOTILLA_UPGRADE_JOBS ?? 8);
const TASKS = Number(process.env.FLOTILLA_UPGRADE_TASKS ?? 30);
/** Two for jobs and one for the session, on two workers. */
const LANES = { w1: 2, w2: 1 };
const AT_WORK = 2;
/** A busy machine opens a page in its own time. */
const SLOW_MS = 120_000;
const ALL_MS = SLOW_MS + (JOBS + TASKS) * 3_000;
const CALL_MS = 20_000;
const DRAIN_S = 2;

const flotilla = binaryRig();
const port = freePort();
const url = `http://127.0.0.1:${port}`;
const ws_url = `ws://127.0.0.1:${port}`;
let dir: string;
let hub: Program;
const workers: Program[] = [];
let site: LoadedSite;

const startHub = () =>
  flotilla.start(["hub", "--host", "127.0.0.1", "--port", String(port)], {
    cwd: dir,
    env: {
      SVC_DATA_DIR: join(dir, "hub"),
      SVC_DRAIN_TIMEOUT_S: String(DRAIN_S),
      SVC_SUBMIT_WAIT_S: "1",
      // A long queue and a slow machine are no defects here.
      SVC_QUEUE_TIMEOUT_S: "1800",
      SVC_LINK_GRACE_S: "60",
    },
  });

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "flotilla-ops-upgrade-"));
  site = startSite();
  hub = startHub();
  await hub.says("hub started", SLOW_MS);
  const worker = (id: string, args: string[]) => {
    const env = { ...lanePorts(), SVC_WORKER_ID: id, SVC_DATA_DIR: join(dir, id) };
    workers.push(flotilla.start(["worker", ...args], { cwd: dir, env }));
  };
  for (const [id, lanes] of Object.entries(LANES))
    worker(id, ["--hub-url", ws_url, "--lanes", String(lanes), "--headless-lanes"]);
  worker("pull", ["--control-url", url, "--slots", "2"]);
  await until("warm lanes", SLOW_MS, async () => (await warmLanes()) === AT_WORK + 1);
}, 2 * SLOW_MS);

afterAll(async () => {
  await site?.stop();
  rmSync(dir, { recursive: true, force: true });
});

interface LoadedSite {
  origin: string;
  /** How often each path was asked for. */
  asked: Map<string, number>;
  /** Pages that are open and wait for their picture. */
  waiting: Set<string>;
  /** Lets one page that waits come to its end. */
  letOne(): void;
  /** Whether pages wait at all. */
  hold(held: boolean): void;
  stop(): Promise<void>;
}

/** `/job/…`: a page that is not loaded before the test says so. */
function startSite(): LoadedSite {
  const asked = new Map<string, number>();
  const waiting = new Map<string, () => void>();
  let held = false;
  const html = (text: string) =>
    new Response(`<!doctype html>${text}`, { headers: { "content-type": "text/html" } });
  const picture = () =>
    new Response('<svg xmlns="http://www.w3.org/2000/svg"/>', {
      headers: { "content-type": "image/svg+xml" },
    });
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    fetch: async ({ url: asks }) => {
      const { pathname } = new URL(asks);
      asked.set(pathname, (asked.get(pathname) ?? 0) + 1);
      const [, kind, name = ""] = pathname.split("/");
      if (kind === "job") return html(`<title>${name}</title><img src="/picture/${name}">`);
      if (kind === "picture") {
        if (held) await new Promise<void>((resolve) => waiting.set(name, resolve));
        return picture();
      }
      return html("<title>Session</title><script>mark = null</script>");
    },
  });
  const letOne = () => {
    const [first] = waiting;
    if (first === undefined) return;
    waiting.delete(first[0]);
    first[1]();
  };
  return {
    origin: server.url.origin,
    asked,
    get waiting() {
      return new Set(waiting.keys());
    },
    letOne,
    hold: (hold) => {
      held = hold;
      while (!held && waiting.size > 0) letOne();
    },
    stop: () => server.stop(true),
  };
}

async function send(method: string, path: string, body?: unknown) {
  const answer = await fetch(url + path, {
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

async function warmLanes(): Promise<number> {
  const { workers: all } = (await send("GET", "/workers")).body as { workers: Worker[] };
  return all.flatMap(({ lanes }) => lanes).filter(({ state }) => state === "warm").length;
}

/** Running or queued, the hub has it: 503 carries its id too. */
async function submitJob(name: string): Promise<string> {
  const options = { headless: true, idle_seconds: 0.2, wait_seconds: 600, max_wait_seconds: 600 };
  const { body } = await send("POST", "/jobs", { url: `${site.origin}/job/${name}`, options });
  expect(body.job_id).toBeString();
  return body.job_id;
}

/** Each writes its key down when it is run. */
async function submitTasks(slug: string, log: string): Promise<string[]> {
  const script = `read -r task; sleep 0.5; echo "$task" >> '${log}'; echo 1`;
  const executor_config = { argv: ["sh", "-c", script] };
  await send("POST", "/api/v1/workloads", { slug, executor_type: "command", executor_config });
  const pks = Array.from({ length: TASKS }, (_, n) => `${slug}-${n}`);
  const items = pks.map((pk) => ({ pk }));
  const { body } = await send("POST", `/api/v1/workloads/${slug}/tasks/batch`, { items });
  expect(body.submitted).toBe(TASKS);
  return pks;
}

async function openSession(page: string) {
  const { status, body } = await send("POST", "/sessions", {
    ...{ headless: true, url: `${site.origin}/${page}`, idle_ttl_s: 3_000, ttl_s: 3_600 },
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
    watchCalls("API", async () => {
      const answer = await send("GET", "/health");
      if (answer.status !== 200) throw new Error(`health: ${answer.status}`);
    }),
    watchCalls("session", asksMark),
    watchCdp(`${ws_url}${path}/cdp`, "mark", page),
    watchViewer(`${ws_url}${path}/novnc/websockify`),
  ];
  return { path, watched };
}

const within = (what: string, watched: Watched[]) =>
  Promise.race([
    Promise.all(watched.map((one) => one.answers())),
    Bun.sleep(SLOW_MS).then(() => {
      const said = watched.map(({ name, troubles }) => [name, ...troubles].join("\n  "));
      throw new Error(`${what}: somebody is not answered\n${said.join("\n")}\n${hub.stderr}`);
    }),
  ]);

const ended = (job_id: string) =>
  until(`the end of job ${job_id}`, ALL_MS, async () => {
    const { body } = await send("GET", `/jobs/${job_id}`);
    return ["queued", "running"].includes(body.status) ? null : (body as Job);
  });

async function runsOf(slug: string): Promise<Run[]> {
  const { body } = await send("GET", `/api/v1/workloads/${slug}/runs?limit=500`);
  return body.runs;
}

const HOW = {
  stopped: { signal: "SIGTERM", code: 0 },
  killed: { signal: "SIGKILL", code: 137 },
} as const;
for (const [how, { signal, code }] of Object.entries(HOW))
  test(
    `a hub that is ${how} under load and started again loses no job, no task and no session`,
    async () => {
      const { path, watched } = await openSession(how);
      await within("before", watched);
      site.hold(true);
      const names = Array.from({ length: JOBS }, (_, n) => `${how}-${n}`);
      const job_ids = await Promise.all(names.map(submitJob));
      await until("jobs at work", SLOW_MS, () => site.waiting.size === AT_WORK);
      const ran = join(dir, `${how}.log`);
      const pks = await submitTasks(how, ran);
      await until("a task", SLOW_MS, async () => (await runsOf(how)).length > 0);

      const asked_at = performance.now();
      expect(await flotilla.end(hub, signal)).toBe(code);
      const ended_at = performance.now();
      // One ends while there is no hub, the other one later.
      site.letOne();
      hub = startHub();
      await within("after", watched);
      site.hold(false);

      const jobs = await Promise.all(job_ids.map(ended));
      const failures = jobs.filter(({ status }) => status !== "completed");
      expect(failures.map(({ job_id, status, error }) => ({ job_id, status, error }))).toEqual([]);
      expect(names.map((name) => site.asked.get(`/job/${name}`))).toEqual(names.map(() => 1));
      await until("every run", ALL_MS, async () => (await runsOf(how)).length >= TASKS);
      const runs = await runsOf(how);
      expect(runs.filter(({ success }) => !success)).toEqual([]);
      expect(runs.map(({ pk }) => pk).sort()).toEqual([...pks].sort());
      const lines = readFileSync(ran, "utf8").trim().split("\n");
      expect(new Set(lines).size).toBe(lines.length);
      expect(lines).toHaveLength(TASKS);

      await within("at the end", watched);
      await Promise.all(watched.map((one) => one.end()));
      expect(site.asked.get(`/${how}`)).toBe(1);
      const troubles = watched.flatMap((one) => [...one.troubles]).join("\n");
      // 503 while its worker is not back; 502 for a call that the stop cut off.
      expect(troubles).not.toMatch(/session: (?!502|503)|closed with 4404/);
      expect((await send("DELETE", path)).status).toBe(204);
      await until("warm lanes", SLOW_MS, async () => (await warmLanes()) === AT_WORK + 1);

      const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;
      const account = watched.map(({ name, longest }) => `${name} ${seconds(longest)}`);
      console.log(
        `hub ${how}: ${jobs.length} jobs completed, ${runs.length} tasks done, ` +
          `its end took ${seconds(ended_at - asked_at)}; longest interruption: ${account.join(", ")}`,
      );
    },
    2 * SLOW_MS + ALL_MS,
  );

test(
  "the workers were the same processes all the while, and end as they are told",
  async () => {
    const codes = await Promise.all(workers.map((worker) => flotilla.end(worker, "SIGTERM")));
    expect(codes).toEqual(workers.map(() => 0));
    expect(await flotilla.end(hub, "SIGTERM")).toBe(0);
  },
  SLOW_MS,
);
