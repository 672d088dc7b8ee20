import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  expect,
  setDefaultTimeout,
  test,
} from "bun:test";
import { reapSessionsOnce } from "#hub/fleet/sessions/reap.ts";
import { type FakeScreen, startFakeScreen } from "#test/support/fakes/fake-screen.ts";
import type { FakeWorker } from "#test/support/fakes/fake-worker.ts";
import { type ClusterHub, startCluster, type TestCluster } from "#test/support/rigs/cluster.ts";
import { openSocket } from "#test/support/rigs/relayed-sockets.ts";
import { startPostgres, type TestPostgres } from "#test/support/servers/postgres.ts";

/** A connection that opens a session may come to any hub (rules/cluster#sessions-across-hubs): the lane is at the other one. */

setDefaultTimeout(180_000);
const TOKEN = "token-of-the-installation";

let postgres: TestPostgres;
let cluster: TestCluster;
let asked: ClusterHub;
let owner: ClusterHub;
let screen: FakeScreen;
let worker: FakeWorker;

beforeAll(async () => {
  postgres = await startPostgres();
  cluster = await startCluster({
    db_url: await postgres.createDatabase(),
    env: { SVC_SUBMIT_WAIT_S: "60", SVC_API_TOKEN: TOKEN },
  });
  [asked, owner] = cluster.hubs as [ClusterHub, ClusterHub];
}, 180_000);
let workers = 0;
beforeEach(async () => {
  workers += 1;
  screen = await startFakeScreen();
  const lane_novnc_urls = [`http://localhost:${screen.port}/`];
  worker = await owner.worker({
    worker_id: `w${workers}`,
    instance_id: `instance-${workers}`,
    address: "127.0.0.1",
    secret: "cluster-secret",
    capabilities: { lane_novnc_urls, max_concurrent: 1 } as never,
  });
});
afterEach(async () => {
  await worker.close();
  while (owner.ctx.links.size > 0) await owner.signals.next("link closed");
  screen.stop();
});
afterAll(async () => {
  await cluster?.close();
  await postgres?.stop();
}, 180_000);

const dial = (hub: ClusterHub, path: string) => openSocket(hub, path, {}, []);
const turn = () => new Promise((resolve) => setImmediate(resolve));
/** The one session, at the hub that has it. */
function sessionOf() {
  const [session] = owner.ctx.sessions.values();
  if (session === undefined) throw new Error("the owner has no session");
  return session;
}

test("a session that a connection opens at another hub ends there with it (rules/sessions#sessions-of-a-connection)", async () => {
  const client = dial(asked, `/?token=${TOKEN}&headless&ttl_s=600`);
  expect(await client.opened).toBe(true);
  const { session_id, ended } = sessionOf();
  expect(asked.ctx.sessions.size).toBe(0);
  expect(await worker.opening.next()).toMatchObject({ session_id, headless: true });
  const stream = await screen.streams.next();
  expect(stream.path).toBe(`/sessions/${session_id}/cdp`);
  client.socket.close();
  expect(await worker.closing.next()).toMatchObject({
    session_id,
    reason: "its last CDP client closed the connection",
  });
  expect(ended.aborted).toBe(true);
});

test("a client that another hub lost comes back through any hub (rules/sessions#sessions-of-a-connection)", async () => {
  const lost = dial(asked, `/cdp?token=${TOKEN}&reconnect_s=20`);
  expect(await lost.opened).toBe(true);
  const session = sessionOf();
  lost.socket.terminate();
  while (session.cdp.clients > 0) await turn();
  session.cdp.left_at -= 19_000;
  await reapSessionsOnce(owner.ctx);
  const path = `/cdp?session=${session.session_id}&token=${TOKEN}`;
  for (const hub of [asked, owner]) {
    const again = dial(hub, path);
    expect(await again.opened).toBe(true);
    again.socket.terminate();
    while (session.cdp.clients > 0) await turn();
  }
  const found = await asked.call(
    "GET",
    `/json/version?session=${session.session_id}&token=${TOKEN}`,
  );
  expect(found.body).toEqual({});
  session.cdp.left_at -= 20_000;
  await reapSessionsOnce(owner.ctx);
  expect((await worker.closing.next()).reason).toBe("no CDP client came back within 20 s");
  expect((await dial(asked, path).closed).code).toBe(4404);
});

test("what the other hub refuses is told as this one would (rules/http#refused-websockets)", async () => {
  await worker.close();
  while (owner.ctx.links.size > 0) await owner.signals.next("link closed");
  const lane_novnc_urls = [`http://localhost:${screen.port}/`];
  worker = await owner.worker({
    worker_id: "refuses",
    instance_id: "refuses",
    address: "127.0.0.1",
    secret: "cluster-secret",
    on_open: "page",
    capabilities: { lane_novnc_urls, max_concurrent: 1 } as never,
  });
  const { code, reason } = await dial(asked, `/cdp?token=${TOKEN}&url=http://site.test/`).closed;
  expect([code, reason]).toEqual([4422, "query.url cannot be opened: cannot"]);
});
