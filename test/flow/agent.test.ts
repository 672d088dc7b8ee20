import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "#shared/kit/clock.ts";
import { silentLog } from "#shared/kit/log.ts";
import { isAlive, readStat } from "#shared/kit/proc.ts";
import { type Instance, InstanceList } from "#shared/protocol/schema/agent.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";
import { PROGRAM, type Program, startProgram } from "#test/support/rigs/program.ts";
import { freePort } from "#test/support/servers/ports.ts";
import { type RunningAgent, startAgent } from "#worker/tasks/agent/agent.ts";

/** Real processes and databases, on machines that do other things as well. */
setDefaultTimeout(180_000);

const HOST = "agent-host";
/** Ends at SIGTERM, as a drained worker does. */
const SLEEPS = "exec sleep 600";
const PASSWORD = "correct horse battery";
const LIMIT_MS = 60_000;

let hub: TestHub;
let dir: string;
const agents: RunningAgent[] = [];
const programs: Program[] = [];

async function begin(): Promise<void> {
  dir = await mkdtemp(join(tmpdir(), "flotilla-agent-"));
  hub = await startTestHub({
    env: { SVC_PORT: String(freePort()), SVC_ADMIN_PASSWORD: PASSWORD },
  });
}
afterEach(async () => {
  for (const program of programs.splice(0)) {
    program.kill("SIGKILL");
    await program.exited;
  }
  await Promise.all(agents.splice(0).map((a) => a.stop()));
  await hub.close();
  await rm(dir, { recursive: true, force: true });
});

/** An agent whose instances run `script` in a shell. */
async function addAgent(script: string, term_ms = 5_000, at = dir): Promise<RunningAgent> {
  const agent = await startAgent({
    control_url: hub.url,
    host: HOST,
    secret: null,
    api_token: null,
    version: "1",
    dir: at,
    command: ["sh", "-c", script, "instance"],
    flags: [],
    term_ms,
    sync_ms: 50,
    environment: { PATH: process.env.PATH ?? "" },
    readGpus: async () => [],
    clock: systemClock,
    log: silentLog,
  });
  agents.push(agent);
  return agent;
}
const api = (method: string, path: string, body?: unknown) =>
  hub.call(method, `/api/v1${path}`, body, { headers: { "x-admin-password": PASSWORD } });
const inventory = async (): Promise<Instance[]> =>
  InstanceList.parse((await api("GET", "/workers/elastic/inventory")).body).instances;
/** The host is known once its agent spoke. */
const spawn = (instance_id: string) =>
  until("the host", LIMIT_MS, async () => {
    const { status } = await api("POST", "/workers/elastic/spawn", { host: HOST, instance_id });
    return status === 202 ? true : undefined;
  });
const instance = (what: string, match: (i: Instance) => boolean) =>
  until(what, LIMIT_MS, async () => (await inventory()).find(match));
const running = (i: Instance) => i.actual === "running" && i.pid !== null;
const pidOf = async (what = "a running instance", not = 0) =>
  (await instance(what, (i) => running(i) && i.pid !== not)).pid as number;
/** A zombie is gone too. */
const isGone = (pid: number): boolean => !isAlive(readStat(pid));
const gone = (pid: number) =>
  until(`the end of ${pid}`, LIMIT_MS, async () => (isGone(pid) ? true : undefined));

describe("an agent (rules/pipeline-agents#what-an-agent-does)", () => {
  test("starts what is wanted, starts it again after kill -9, and stops it", async () => {
    await begin();
    await addAgent(SLEEPS);
    await spawn("one");
    const first = await pidOf();
    process.kill(first, "SIGKILL");
    const again = await instance("another start", (i) => running(i) && i.pid !== first);
    expect(again).toMatchObject({ desired: "running", exit_code: 137 });
    const { body } = await api("GET", "/agents");
    expect(body.agents[0].report.children[0]).toMatchObject({ restarts: 1, state: "running" });
    await api("POST", "/workers/elastic/stop", { instance_id: "one" });
    await until("an empty inventory", LIMIT_MS, async () =>
      (await inventory()).length === 0 ? true : undefined,
    );
    expect(isGone(again.pid as number)).toBe(true);
  });

  test("keeps its instances while the control plane is away, and reports when it is back", async () => {
    await begin();
    await addAgent(SLEEPS);
    await spawn("one");
    const first = await pidOf();
    await hub.stop();
    process.kill(first, "SIGKILL");
    await gone(first);
    await hub.restart();
    await pidOf("the restarted instance", first);
  });

  test("started anew without a control plane it runs what it was last told, under its old name", async () => {
    await begin();
    const before = await addAgent(SLEEPS);
    await spawn("one");
    await pidOf();
    const { agent_id } = JSON.parse(await readFile(join(dir, "agent.json"), "utf8"));
    await before.stop();
    await hub.stop();
    await addAgent(`echo $$ > ${dir}/started; ${SLEEPS}`);
    await until("the start", LIMIT_MS, async () =>
      (await readFile(`${dir}/started`, "utf8").catch(() => "")) === "" ? undefined : true,
    );
    await hub.restart();
    await pidOf();
    expect(JSON.parse(await readFile(join(dir, "agent.json"), "utf8")).agent_id).toBe(agent_id);
  });

  test("kills the whole group of an instance that ignores SIGTERM", async () => {
    await begin();
    const agent = await addAgent(`trap "" TERM; sleep 600 & echo $! > ${dir}/child; wait`, 100);
    await spawn("one");
    const pid = await pidOf();
    const grandchild = await until(
      "the grandchild",
      LIMIT_MS,
      async () => Number(await readFile(`${dir}/child`, "utf8").catch(() => "")) || undefined,
    );
    await agent.stop();
    await gone(pid);
    await gone(grandchild);
    expect((await inventory())[0]).toMatchObject({ actual: "exited", exit_code: 137 });
  });

  test("another generation starts an instance anew; one that cannot run is left down until then", async () => {
    await begin();
    await addAgent("exit 2");
    await spawn("one");
    const down = await instance("its end", (i) => i.actual === "exited");
    expect(down).toMatchObject({ desired: "running", exit_code: 2, pid: null });
    const row = await hub.ctx.db.agents.get(HOST);
    const desired = row?.desired.map((d) => ({ ...d, generation: 1 })) ?? [];
    const told = down.started_at;
    await hub.ctx.db.agents.setDesired(HOST, desired, row?.revision ?? -1);
    await instance("another start", (i) => i.actual === "exited" && i.started_at !== told);
  });

  test("a second agent of the host runs nothing while the first is alive", async () => {
    await begin();
    await addAgent(SLEEPS);
    await spawn("one");
    const pid = await pidOf();
    await addAgent(`touch ${dir}/twice; ${SLEEPS}`, 5_000, join(dir, "second"));
    await until("its refusal", LIMIT_MS, async () =>
      hub.log.some((l) => String(l.path).endsWith("/sync") && l.status === 409) ? true : undefined,
    );
    expect(await readFile(`${dir}/twice`).catch(() => null)).toBeNull();
    expect(await pidOf()).toBe(pid);
  });
});

test("the program with --agent runs pull workers that do tasks; SIGTERM and kill -9 of it end them (rules/pipeline-agents#what-an-agent-does)", async () => {
  await begin();
  await api("POST", "/workloads", {
    slug: "echoes",
    executor_type: "command",
    executor_config: { argv: ["cat"] },
  });
  const host = hostname();
  await api("POST", `/agents/${host}/sync`, {});
  const body = { host, instance_id: "real-1", slots: 2, workloads: ["echoes"] };
  expect((await api("POST", "/workers/elastic/spawn", body)).status).toBe(202);
  const startReal = () => {
    const flags = ["--agent", `--control-url=${hub.url}`, `--data-dir=${dir}/data`];
    const program = startProgram([...PROGRAM, "worker", ...flags]);
    programs.push(program);
    return program;
  };
  const agent = startReal();
  await api("POST", "/workloads/echoes/tasks", { pk: "a" });
  await until("the run", LIMIT_MS, async () =>
    (await api("GET", "/workloads/echoes/runs")).body.runs[0]?.success === true ? true : undefined,
  );
  const { workers } = (await api("GET", "/workers")).body;
  expect(workers).toMatchObject([{ id: "real-1", host, slots: 2, filter: ["echoes"] }]);
  const first = await pidOf();
  agent.kill("SIGTERM");
  expect(await agent.exited).toBe(0);
  expect(isGone(first)).toBe(true);
  expect((await inventory())[0]).toMatchObject({ actual: "exited", exit_code: 0 });

  const killed = startReal();
  const second = await pidOf("the next one", first);
  killed.kill("SIGKILL");
  await gone(second);
});
