import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import {
  AGENT_OFFLINE_MS,
  AgentList,
  InstanceList,
  MAX_INSTANCES,
} from "#shared/protocol/schema/agent.ts";
import { issueAt } from "#test/support/clients/api.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";

// Forty spawns at once take seconds on a busy machine.
setDefaultTimeout(180_000);

const PASSWORD = "correct horse battery";
const admin = { headers: { "x-admin-password": PASSWORD } };
const clock = createFakeClock();
let hub: TestHub;
beforeAll(async () => {
  hub = await startTestHub({ clock, mode: "control", env: { SVC_ADMIN_PASSWORD: PASSWORD } });
});
afterAll(() => hub.close());

const api = (method: string, path: string, body?: unknown, init?: RequestInit) =>
  hub.call(method, `/api/v1${path}`, body, init);
let made = 0;
const newHost = () => `host-${++made}`;
const sync = (host: string, fields: Record<string, unknown> = {}) =>
  api("POST", `/agents/${host}/sync`, { agent_id: "agent-one", ...fields });
async function addAgent(): Promise<string> {
  const host = newHost();
  expect((await sync(host)).status).toBe(200);
  return host;
}
const spawn = (body: object) => api("POST", "/workers/elastic/spawn", body, admin);
const stop = (body: object) => api("POST", "/workers/elastic/stop", body, admin);
const inventory = async (host: string) =>
  InstanceList.parse((await api("GET", "/workers/elastic/inventory")).body).instances.filter(
    (i) => i.host === host,
  );
const idsOf = (answer: { body: { instances: { instance_id: string }[] } }) =>
  answer.body.instances.map((i) => i.instance_id);

describe("agents (rules/pipeline-agents#host-agents)", () => {
  test("POST /agents/{host}/sync keeps the report and answers the desired state (rules/pipeline-agents#sync)", async () => {
    const host = newHost();
    const gpus = [{ index: 0, name: "L4", mem_used_mb: 1, mem_total_mb: 2, util_percent: 3 }];
    const first = await sync(host, { gpus, version: "7" });
    const metrics = (await hub.call("GET", "/api/v1/workers/metrics?minutes=2")).body;
    expect(metrics.series).toMatchObject([
      { host, gpu: 0, name: "L4", points: [{ mem_used_mb: 1 }] },
    ]);
    expect([first.status, first.body]).toEqual([200, { desired: { instances: [] }, revision: 0 }]);
    const { agents } = AgentList.parse((await api("GET", "/agents")).body);
    expect(agents.find((a) => a.host === host)).toEqual({
      host,
      state: "active",
      desired: { instances: [] },
      revision: 0,
      report: { gpus, children: [], version: "7" },
      last_seen_at: new Date(clock.now()).toISOString(),
    });
  });

  test("GET /agents shows one that was silent as offline (rules/pipeline-agents#host-agents)", async () => {
    const host = await addAgent();
    const state = async () =>
      (await api("GET", "/agents")).body.agents.find((a: { host: string }) => a.host === host)
        .state;
    expect(await state()).toBe("active");
    await clock.advance(AGENT_OFFLINE_MS + 1);
    expect(await state()).toBe("offline");
  });

  test("a second agent of a host is refused while the first is alive", async () => {
    const host = await addAgent();
    const second = await sync(host, { agent_id: "agent-two" });
    expect([second.status, second.body.detail]).toEqual([409, `another agent runs on ${host}`]);
    await clock.advance(AGENT_OFFLINE_MS + 1);
    expect((await sync(host, { agent_id: "agent-two" })).status).toBe(200);
  });

  test("a bad host, an unknown key, a bad child state are refused by name", async () => {
    const bad = await api("POST", "/agents/-oProxyCommand=x/sync", {});
    expect([bad.status, bad.body]).toMatchObject([422, issueAt("path", "host")]);
    expect((await sync("h", { extra: 1 })).status).toBe(422);
    const child = { instance_id: "i1", state: "gone" };
    const children = await sync("h", { children: [child] });
    expect(children.body).toMatchObject(issueAt("body", "children", 0, "state"));
  });

  test("WORKER_SECRET, when set, is asked of an agent", async () => {
    const guarded = await startTestHub({ mode: "control", env: { WORKER_SECRET: "hush" } });
    try {
      const call = (headers: Record<string, string>) =>
        guarded.call("POST", "/api/v1/agents/h1/sync", {}, { headers });
      expect((await call({})).status).toBe(401);
      expect((await call({ "x-worker-secret": "wrong" })).status).toBe(401);
      expect((await call({ "x-worker-secret": "hush" })).status).toBe(200);
    } finally {
      await guarded.close();
    }
  });
});

describe("elastic instances (rules/pipeline-agents#inventory)", () => {
  test("spawn adds to the desired state, inventory shows what the agent reports, stop takes it out (rules/pipeline-agents#spawn-instances)", async () => {
    const host = await addAgent();
    await api("POST", "/workloads", {
      slug: "thumbs",
      executor_type: "command",
      executor_config: { argv: ["true"] },
    });
    const asked = await spawn({ host, count: 2, slots: 3, workloads: ["thumbs"] });
    expect(asked.status).toBe(202);
    const [one = "", two = ""] = idsOf(asked);
    expect(one.startsWith(`${host}-`)).toBe(true);
    const fresh = { desired: "running", actual: "unknown", pid: null, worker_id: null };
    // By host and name, so that a page goes on where the one before ended.
    const named = [one, two].toSorted().map((instance_id) => ({ ...fresh, instance_id }));
    expect(await inventory(host)).toMatchObject(named);
    const told = await sync(host);
    expect(told.body).toMatchObject({
      revision: 1,
      desired: { instances: [{ instance_id: one, args: ["--slots=3", "--workloads=thumbs"] }, {}] },
    });
    const started_at = new Date(clock.now()).toISOString();
    const child = { instance_id: one, pid: 77, state: "running", started_at };
    await sync(host, { children: [child] });
    const incarnation = "incarnation-1";
    await api("POST", `/workers/${one}/register`, { incarnation, host, slots: 3, version: "1" });
    expect((await inventory(host)).find((i) => i.instance_id === one)).toEqual({
      instance_id: one,
      host,
      desired: "running",
      actual: "running",
      pid: 77,
      worker_id: one,
      started_at,
      exit_code: null,
    });
    const stopped = await stop({ instance_id: one });
    expect([stopped.status, stopped.body.instances]).toMatchObject([
      202,
      [{ instance_id: one, desired: "stopped", actual: "running" }],
    ]);
    expect((await stop({ instance_id: one })).status).toBe(202);
    await sync(host, { children: [] });
    expect((await inventory(host)).map((i) => i.instance_id)).toEqual([two]);
    expect((await stop({ instance_id: one })).status).toBe(404);
  });

  test("spawn and stop are the administrator's; nobody else learns what is wrong with a body (rules/pipeline-api#the-administrator)", async () => {
    for (const path of ["spawn", "stop"])
      expect((await api("POST", `/workers/elastic/${path}`, { nope: 1 })).status).toBe(401);
  });

  test("stop by host takes the newest; more than there are takes all", async () => {
    const host = await addAgent();
    const [oldest, , newest] = idsOf(await spawn({ host, count: 3 }));
    expect(idsOf(await stop({ host }))).toEqual([newest as string]);
    const all = (await stop({ host, count: 50 })).body;
    expect(all).toMatchObject({ asked: 50, stopped: all.instances.length });
    expect(all.stopped).toBeLessThan(50);
    expect(await inventory(host)).toEqual([]);
    expect(oldest).not.toBe(newest);
  });

  test("without a host the live agent with the fewest instances gets it", async () => {
    await clock.advance(AGENT_OFFLINE_MS + 1);
    const none = await spawn({});
    expect([none.status, none.body.detail]).toEqual([
      409,
      "no host has an agent: start one with --agent",
    ]);
    const [busy, idle] = [await addAgent(), await addAgent()];
    await spawn({ host: busy, count: 2 });
    await spawn({ host: idle, count: 1 });
    expect((await spawn({})).body.instances[0].host).toBe(idle);
  });

  test("a name makes the call repeatable, and belongs to one host", async () => {
    const [host, other] = [await addAgent(), await addAgent()];
    const named = { instance_id: `named-${made}`, host };
    for (let i = 0; i < 3; i += 1) expect((await spawn(named)).status).toBe(202);
    expect(await inventory(host)).toHaveLength(1);
    expect((await spawn({ instance_id: named.instance_id })).body.instances[0].host).toBe(host);
    const { instance_id: id } = named;
    const filter = async () =>
      (await api("GET", "/workers")).body.workers.find((w: { id: string }) => w.id === id).filter;
    const slug = `work-${made}`;
    const command = { executor_type: "command", executor_config: { argv: ["true"] } };
    await api("POST", "/workloads", { slug, ...command });
    const incarnation = "incarnation-1";
    await api("POST", `/workers/${id}/register`, { incarnation, host, slots: 1, version: "1" });
    await api("POST", `/workers/${id}/filter`, { op: "replace", workloads: ["by-hand"] });
    await spawn({ ...named, workloads: [slug] });
    expect(await filter()).toEqual(["by-hand"]);
    await stop({ instance_id: id });
    await spawn({ ...named, workloads: [slug] });
    expect(await filter()).toEqual([slug]);
    const taken = await spawn({ ...named, host: other });
    expect([taken.status, taken.body.detail]).toEqual([
      409,
      `${named.instance_id} runs on ${host}`,
    ]);
  });

  test("forty spawns at once are forty instances", async () => {
    const host = await addAgent();
    const answers = await Promise.all(Array.from({ length: 40 }, () => spawn({ host })));
    expect(answers.map((a) => a.status)).toEqual(Array(40).fill(202));
    expect(new Set(answers.flatMap(idsOf)).size).toBe(40);
    expect(await inventory(host)).toHaveLength(40);
  });

  test(`a host runs at most ${MAX_INSTANCES}; no agent, no such workload and bad numbers are told`, async () => {
    const host = await addAgent();
    expect((await spawn({ host, count: MAX_INSTANCES + 1 })).body).toMatchObject(
      issueAt("body", "count"),
    );
    await spawn({ host, count: MAX_INSTANCES - 1 });
    const full = await spawn({ host, count: 2 });
    expect([full.status, full.body.detail]).toEqual([
      409,
      `${host} has room for 1 more of ${MAX_INSTANCES} instances`,
    ]);
    expect((await spawn({ host: "nowhere" })).status).toBe(409);
    expect((await stop({ host: "nowhere" })).status).toBe(409);
    expect((await spawn({ workloads: ["none-such"] })).body).toMatchObject(
      issueAt("body", "workloads", 0),
    );
    expect((await spawn({ count: 2, instance_id: "x" })).body).toMatchObject(
      issueAt("body", "count"),
    );
    for (const body of [{}, { host, instance_id: "a" }, { host, count: 0 }, { nope: 1 }])
      expect((await stop(body)).status).toBe(422);
  });
});
