import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { HubRegistered } from "#shared/protocol/link/messages.ts";
import type { FleetUpdates } from "#shared/protocol/schema/updates.ts";
import { connectFakeWorker, type FakeWorker } from "#test/support/fakes/fake-worker.ts";
import { type ClusterHub, startCluster, type TestCluster } from "#test/support/rigs/cluster.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { startPostgres, type TestPostgres } from "#test/support/servers/postgres.ts";

/** Updates of workers that are linked to several hubs (rules/updates#one-worker-after-the-other). */

setDefaultTimeout(180_000);
const OLD = "aaaaaaaaaaaa";

let postgres: TestPostgres;
let cluster: TestCluster;
const fakes: FakeWorker[] = [];

beforeAll(async () => {
  postgres = await startPostgres();
  cluster = await startCluster({ db_url: await postgres.createDatabase(), env: {} });
}, 120_000);
afterAll(async () => {
  for (const worker of fakes) await worker.close();
  await cluster?.close();
  await postgres?.stop();
}, 180_000);

const join = async (hub: ClusterHub, worker_id: string, version: string): Promise<FakeWorker> => {
  const worker = connectFakeWorker(hub.url, {
    worker_id,
    version,
    waits_for_order: true,
    instance_id: `${worker_id} ${version}`,
    secret: hub.ctx.config.worker_secret ?? undefined,
  });
  fakes.push(worker);
  await worker.registered;
  return worker;
};
const lookEverywhere = () => Promise.all(cluster.hubs.map(({ ctx }) => ctx.rollout.pass()));
const updates = async (hub: ClusterHub) =>
  (await hub.call("GET", "/api/v1/updates")).body as FleetUpdates;
const sent = (hub: ClusterHub) =>
  Object.values(hub.ctx.rollout.look().state.turns).map(({ worker_id }) => worker_id);

test("hubs of several versions send nobody; of one version, and deciding at once, they send one worker", async () => {
  const [a, b] = cluster.hubs as [ClusterHub, ClusterHub];
  const starting = { hub_id: "starting", url: "", version: "another", at: a.ctx.clock.now() };
  await a.ctx.kv.set("hub:starting", starting, 60_000);
  const w1 = await join(a, "w1", OLD);
  const w2 = await join(b, "w2", OLD);
  for (let i = 0; i < 5; i += 1) await lookEverywhere();
  expect(await updates(b)).toMatchObject({ state: "waiting_for_hubs" });
  expect(sent(a)).toEqual([]);
  // Nobody is told to go, whichever hub it is linked to: no worker goes back and forth.
  for (const worker of [w1, w2])
    expect(((await worker.registered) as HubRegistered).update?.go).toBe(false);
  await a.ctx.kv.delete("hub:starting");
  for (let i = 0; i < 10; i += 1) await lookEverywhere();
  expect(sent(a)).toHaveLength(1);
  expect(sent(b)).toEqual(sent(a));
  const canary = sent(a)[0] === "w1" ? w1 : w2;
  const heard = await canary.messages.next(
    (m) => m.type === "HubHeartbeatAck" && m.update?.go === true,
  );
  expect(heard).toMatchObject({ update: { target: a.ctx.version, go: true } });
});

test("a worker that comes back at the other hub is proven there, and the next one is sent by its own", async () => {
  const [a, b] = cluster.hubs as [ClusterHub, ClusterHub];
  await until("one look that both know", 60_000, async () => {
    await lookEverywhere();
    return sent(a).length === 1;
  });
  const [first = ""] = sent(a);
  const second = first === "w1" ? "w2" : "w1";
  const one = fakes.find(({ worker_id }) => worker_id === first);
  const two = fakes.find(({ worker_id }) => worker_id === second);
  await one?.close();
  const back = await join(first === "w1" ? b : a, first, a.ctx.version);
  await a.call("POST", `/workers/${second}/status`, { status: "drain" });
  await lookEverywhere();
  const { body } = await b.call("POST", "/jobs", { url: "http://site.test/" });
  back.finish(await back.assigned.next());
  await until("the job's end", 60_000, async () => {
    const { status } = (await a.call("GET", `/jobs/${body.job_id}`)).body;
    return status === "completed";
  });
  await until("the next order", 60_000, async () => {
    await lookEverywhere();
    return sent(b).length === 2;
  });
  await two?.messages.next((m) => m.type === "HubHeartbeatAck" && m.update?.go === true);
  expect((await updates(a)).failure).toBeNull();
});
