import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  expect,
  setDefaultTimeout,
  test,
} from "bun:test";
import { createProfileSweeper } from "#hub/fleet/registries/profile-sweep.ts";
import { beginWriting } from "#hub/fleet/registries/profile-writers.ts";
import { systemClock } from "#shared/kit/clock.ts";
import { SESSION_ACTIONS } from "#shared/protocol/actions/session-actions.ts";
import { newSessionId } from "#shared/protocol/ids.ts";
import { makeTarGz } from "#test/support/clients/tar.ts";
import { type FakeBridge, startFakeBridge } from "#test/support/fakes/fake-bridge.ts";
import type { FakeWorker, FakeWorkerOptions } from "#test/support/fakes/fake-worker.ts";
import { type ClusterHub, startCluster, type TestCluster } from "#test/support/rigs/cluster.ts";
import { TARGET } from "#test/support/rigs/hub.ts";
import { startPostgres, type TestPostgres } from "#test/support/servers/postgres.ts";

/** Sessions, and calls of workers, are answered right whichever hub is asked (rules/cluster#calls-are-passed-on). */

setDefaultTimeout(180_000);
let postgres: TestPostgres;
let cluster: TestCluster;
let asked: ClusterHub;
let owner: ClusterHub;
let bridge: FakeBridge;
const fakes: FakeWorker[] = [];

beforeAll(async () => {
  postgres = await startPostgres();
  cluster = await startCluster({
    db_url: await postgres.createDatabase(),
    // Who is asked waits for as long as it takes; the owner is asked where there is no lane.
    envs: [{ SVC_SUBMIT_WAIT_S: "60" }, { SVC_SUBMIT_WAIT_S: "1" }],
  });
  [asked, owner] = cluster.hubs as [ClusterHub, ClusterHub];
}, 180_000);
beforeEach(() => {
  bridge = startFakeBridge();
});
afterEach(async () => {
  for (const worker of fakes.splice(0)) await worker.close();
  for (const hub of cluster.hubs)
    while (hub.ctx.links.size > 0) await hub.signals.next("link closed");
  await bridge.stop();
});
afterAll(async () => {
  await cluster?.close();
  await postgres?.stop();
}, 180_000);

let count = 0;
async function workerAt(hub: ClusterHub, options: FakeWorkerOptions = {}): Promise<FakeWorker> {
  count += 1;
  const lanes = options.lanes ?? 1;
  const { lane_novnc_urls } = bridge;
  const worker = await hub.worker({
    worker_id: `w${count}`,
    instance_id: `instance-${count}`,
    address: "127.0.0.1",
    secret: "cluster-secret",
    capabilities: { lane_novnc_urls, max_concurrent: lanes } as never,
    ...options,
  });
  fakes.push(worker);
  return worker;
}
const open = async (hub: ClusterHub, body: object = {}, init?: RequestInit) => {
  const answer = await hub.call("POST", "/sessions", body, init);
  expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 201 });
  return answer.body;
};
const ARGS: Record<string, object> = {
  navigate: { url: TARGET },
  click: { selector: "#a" },
  type: { text: "x" },
  press: { key: "Enter" },
  fill: { selector: "#a", text: "x" },
  hover: { selector: "#a" },
  drag_and_drop: { source: "#a", target: "#b" },
  mouse: { op: "up" },
  check: { selector: "#a" },
  uncheck: { selector: "#a" },
  scroll: { amount: 1 },
  wait: { seconds: 0.1 },
  tab: { op: "new" },
  dialog: { op: "dismiss" },
  recipe: { actions: [{ kind: "press", key: "Enter" }] },
  ask: { prompt: "what?" },
  agent: { goal: "go" },
  select_option: { selector: "#a", values: ["1"] },
  evaluate: { code: "1" },
  pick: { x: 1, y: 2 },
  set_input_files: {
    selector: "#f",
    files: [{ name: "a.txt", mime: "text/plain", content_base64: "YQ==" }],
  },
};

test("every call of a session is answered by the hub that does not own it (rules/cluster#calls-are-passed-on)", async () => {
  const worker = await workerAt(owner, {
    on_call: ({ action, args }) =>
      action === "screenshot" || action === "preview" || action === "pdf"
        ? { result: { mime: "image/png", width: 1, height: 1, content_base64: "AAAA" } }
        : action === "cookies_get"
          ? { result: { cookies: [] } }
          : action === "network"
            ? { result: { requests: [], next: 0, dropped: 0 } }
            : action === "files"
              ? { result: { files: [] } }
              : { result: { action, args } },
  });
  const { session_id: sid } = await open(owner, { url: TARGET });
  const path = `/sessions/${sid}`;
  for (const action of Object.keys(SESSION_ACTIONS)) {
    const body = ARGS[action] ?? {};
    const [there, here] = [
      await owner.call("POST", `${path}/${action}`, body),
      await asked.call("POST", `${path}/${action}`, body),
    ];
    expect([action, here.status]).toEqual([action, 200]);
    expect({ ...here.body, ms: 0 }).toEqual({ ...there.body, ms: 0 });
  }
  const raw = { headers: { accept: "image/png" } };
  const picture = await asked.call("POST", `${path}/screenshot`, {}, raw);
  expect([picture.status, picture.headers.get("content-type")]).toEqual([200, "image/png"]);
  for (const [method, below, body] of [
    ["GET", ""],
    ["GET", "state"],
    ["GET", "cookies"],
    ["PUT", "cookies", { cookies: [{ name: "a", value: "b", url: "http://a.test/" }] }],
    ["DELETE", "cookies"],
    ["GET", "network?since=0"],
    ["GET", "files"],
    ["GET", "preview.jpg"],
    ["HEAD", "preview.jpg"],
  ] as const) {
    const at = below === "" ? path : `${path}/${below}`;
    const there = await owner.call(method, at, body);
    const here = await asked.call(method, at, body);
    expect([below, here.status, here.text]).toEqual([below, there.status, there.text]);
  }
  // What is no route has no hub that owns it.
  expect((await asked.call("GET", `${path}/nothing`)).status).toBe(404);
  expect((await asked.call("GET", path)).body).toMatchObject({ session_id: sid });
  const { worker_id } = worker;
  const there = (await owner.call("GET", `/workers/${worker_id}`)).body;
  // Its lanes are those of the last look at the shared registry.
  const { lanes: _lanes, in_flight: _in_flight, ...steady } = there;
  expect((await asked.call("GET", `/workers/${worker_id}`)).body).toMatchObject(steady);
  bridge.files.set("a.txt", { body: "text", mime: "text/plain" });
  expect((await asked.call("GET", `${path}/files/a.txt`)).text).toBe("text");
  const blob = JSON.stringify("x".repeat(300_000));
  bridge.blobs.set("b1", blob);
  worker.calls.clear();
  expect((await asked.call("POST", `${path}/nothing`, {})).status).toBe(404);
  expect((await asked.call("POST", `${path}/evaluate`, { code: 1 })).status).toBe(422);
  expect((await asked.call("POST", `${path}/evaluate`, "{")).status).toBe(400);
  const once = { headers: { "idempotency-key": `end-${sid}` } };
  expect((await asked.call("DELETE", path, undefined, once)).status).toBe(204);
  for (const hub of [asked, owner]) {
    expect((await hub.call("GET", `${path}/state`)).status).toBe(404);
    // A repeated call gets its first answer, wherever it is repeated.
    expect((await hub.call("DELETE", path, undefined, once)).status).toBe(204);
  }
  expect(await cluster.shared.kv.get(`session:${sid}`)).toBeNull();
});

test("a failed action, a slow one and one of a worker that goes away are told as at the owner (rules/session-actions#failed-actions)", async () => {
  const worker = await workerAt(owner, {
    on_call: ({ action }) =>
      action === "evaluate"
        ? null
        : { ok: false, kind: "page", error: { name: "Error", message: "no such element" } },
  });
  const { session_id: sid } = await open(owner);
  expect(await asked.call("POST", `/sessions/${sid}/click`, { selector: "#a" })).toMatchObject({
    status: 422,
    body: { detail: "no such element" },
  });
  const running = asked.call("POST", `/sessions/${sid}/evaluate`, { code: "1", timeout_s: 600 });
  await worker.calls.next((call) => call.action === "evaluate");
  await worker.close();
  expect(await running).toMatchObject({
    status: 502,
    body: { detail: expect.stringMatching(/^its worker is gone: the link to worker w2 broke/) },
  });
  expect((await asked.call("GET", `/sessions/${sid}/state`)).status).toBe(404);
});

test("GET /sessions lists those of every hub, oldest first; a silent hub is left out", async () => {
  await workerAt(asked);
  await workerAt(owner);
  const first = await open(owner, { worker_id: `w${count}` });
  await systemClock.sleep(2);
  const second = await open(owner, { worker_id: `w${count - 1}` });
  expect(second.worker_id).toBe(`w${count - 1}`);
  for (const hub of [asked, owner]) {
    const { sessions } = (await hub.call("GET", "/sessions")).body;
    expect(sessions.map((s: { session_id: string }) => s.session_id)).toEqual([
      first.session_id,
      second.session_id,
    ]);
  }
  const { url } = owner.ctx.advertise;
  await cluster.shared.kv.set(
    "hub:gone",
    { hub_id: "gone", url: "http://127.0.0.1:9", version: "t", at: 0 },
    60_000,
  );
  expect((await asked.call("GET", "/sessions")).body.sessions).toHaveLength(2);
  await cluster.shared.kv.delete("hub:gone");
  expect(url).toBe(owner.front.url);
});

test("POST /sessions goes where the free lane is, and to the worker it names (rules/cluster#sessions-across-hubs)", async () => {
  const worker = await workerAt(owner, { lanes: 2 });
  await peersKnow();
  const keyed = { headers: { "idempotency-key": `open-${count}` } };
  const session = await open(asked, { url: TARGET }, keyed);
  expect(session.worker_id).toBe(worker.worker_id);
  expect(owner.ctx.sessions.has(session.session_id)).toBe(true);
  // The key is the fleet's: the same call again opens nothing.
  expect(await open(asked, { url: TARGET }, keyed)).toEqual(session);
  expect(await open(owner, { url: TARGET }, keyed)).toEqual(session);
  const named = await open(asked, { worker_id: worker.worker_id });
  expect(named.worker_id).toBe(worker.worker_id);
  expect((await asked.call("POST", "/sessions", { worker_id: "w999" })).status).toBe(404);
  expect((await asked.call("POST", "/sessions", { use_profile: "none" })).status).toBe(422);
});

/** The asked hub has heard of a free lane at the owner. */
async function peersKnow(): Promise<void> {
  while (![...asked.ctx.cluster.peers.values()].some((peer) => peer.best !== null))
    await systemClock.sleep(5);
}

test("a POST that waits is served by whichever hub has a free lane first (rules/cluster#sessions-across-hubs)", async () => {
  const waiting = asked.call("POST", "/sessions", {});
  while (asked.ctx.lanes_wanted.size === 0) await systemClock.sleep(1);
  const worker = await workerAt(owner);
  const answer = await waiting;
  expect([answer.status, answer.body.worker_id]).toEqual([201, worker.worker_id]);
  expect(asked.ctx.lanes_wanted.size).toBe(0);
});

test("no lane at any hub within the wait is one 503 with Retry-After (rules/sessions#no-lane-for-a-session)", async () => {
  await workerAt(asked);
  await open(asked);
  const answer = await owner.call("POST", "/sessions", {});
  expect([answer.status, answer.body.detail, answer.headers.get("retry-after")]).toEqual([
    503,
    "fleet at capacity",
    "10",
  ]);
});

test("unknown is 404 forever; a silent store is 503 with Retry-After; nothing else is asked of it (rules/cluster#calls-are-passed-on)", async () => {
  const { kv } = asked.ctx;
  const get = kv.get;
  let reads: string[] = [];
  Object.assign(kv, {
    get: (key: string) => {
      reads.push(key);
      return get(key);
    },
  });
  try {
    const sid = newSessionId();
    expect((await asked.call("GET", `/sessions/${sid}/state`)).status).toBe(404);
    // The second read tells whether the store was emptied.
    expect(reads).toEqual([`session:${sid}`, `hub:${asked.ctx.hub_id}`]);
    reads = [];
    expect((await asked.call("GET", "/sessions/x/state")).status).toBe(404);
    expect(reads).toEqual([]);
    await workerAt(asked);
    const { session_id } = await open(asked);
    reads = [];
    expect((await asked.call("GET", `/sessions/${session_id}/state`)).status).toBe(200);
    expect(reads).toEqual([]);
    Object.assign(kv, { get: () => Promise.reject(new Error("away")) });
    const answer = await asked.call("GET", `/sessions/${sid}/state`);
    expect([answer.status, answer.headers.get("retry-after"), answer.body.detail]).toEqual([
      503,
      "5",
      "the shared store does not answer",
    ]);
    expect((await asked.call("GET", `/sessions/${session_id}/state`)).status).toBe(200);
  } finally {
    Object.assign(kv, { get });
  }
});

test("uploads of a worker that reach the wrong hub are stored by the hub of its link (rules/cluster#calls-are-passed-on)", async () => {
  const worker = await workerAt(owner);
  const { body } = await owner.call("POST", "/jobs", { url: TARGET });
  const job = await worker.assigned.next();
  const { upload_token } = await worker.registered;
  const bytes = Buffer.alloc(5_000_000, 3);
  const put = (hub: ClusterHub, token: string) =>
    fetch(`${hub.url}/workers/${worker.worker_id}/jobs/${job.job_id}/documents/page.html`, {
      method: "PUT",
      body: bytes,
      headers: {
        authorization: `Bearer ${token}`,
        "x-lease-token": String(job.lease_token),
        "x-sha256": new Bun.CryptoHasher("sha256").update(bytes).digest("hex"),
      },
    });
  expect((await put(asked, upload_token)).status).toBe(200);
  expect((await put(asked, "wrong")).status).toBe(401);
  for (const hub of [asked, owner]) {
    const page = await fetch(`${hub.url}/jobs/${body.job_id}/page.html`);
    expect((await page.arrayBuffer()).byteLength).toBe(bytes.length);
  }
  worker.finish(job);
  await owner.signals.next("lane freed");
});

test("a running job's picture is taken at any hub (rules/documents#screenshot-of-a-running-job)", async () => {
  const worker = await workerAt(owner, {
    on_call: () => ({ result: { mime: "image/png", width: 1, height: 1, content_base64: "AAAA" } }),
  });
  const { body } = await owner.call("POST", "/jobs", { url: TARGET });
  const job = await worker.assigned.next();
  const path = `/jobs/${body.job_id}/screenshot/capture`;
  const answer = await asked.call("POST", path, { format: "png" });
  expect([answer.status, answer.body.kind]).toEqual([200, "image"]);
  worker.finish(job);
  await owner.signals.next("lane freed");
  expect((await asked.call("POST", path, {})).status).toBe(409);
});

test("one writer per profile name in the fleet; the sweep leaves alone what another hub writes (rules/profiles#one-writer)", async () => {
  const upload = async (hub: ClusterHub, text: string) =>
    fetch(`${hub.url}/profiles/shared`, {
      method: "POST",
      headers: { "content-type": "application/x-tar" },
      body: await makeTarGz([["Default/Cookies", text]]),
    });
  expect((await upload(asked, "1")).status).toBe(201);
  expect((await upload(owner, "2")).status).toBe(200);
  const keys = () => asked.ctx.objects.list("profiles/p-shared");
  expect(await keys()).toHaveLength(2);
  const done = await beginWriting(owner.ctx, "shared", "test");
  expect((await upload(asked, "3")).status).toBe(409);
  expect((await asked.call("DELETE", "/profiles/shared")).status).toBe(409);
  const sweeper = createProfileSweeper(asked.ctx);
  await sweeper.sweep();
  await sweeper.sweep();
  expect(await keys()).toHaveLength(2);
  await done();
  await sweeper.sweep();
  await sweeper.sweep();
  expect(await keys()).toHaveLength(1);
  expect((await upload(asked, "3")).status).toBe(200);
  expect((await owner.call("DELETE", "/profiles/shared")).status).toBe(204);
});

test("a session's profile is saved from any hub, by a worker that reaches any hub", async () => {
  const archive = await makeTarGz([["Default/Cookies", "kept"]]);
  const worker = await workerAt(owner, {
    on_call: (call) => {
      if (call.action !== "profile_save") return {};
      const path = `/workers/${worker.worker_id}/sessions/${call.session_id}/profile/${call.args.name}`;
      void worker.registered.then(async ({ upload_token }) => {
        const stored = await fetch(asked.url + path, {
          method: "PUT",
          body: archive,
          headers: { authorization: `Bearer ${upload_token}` },
        });
        worker.reply(call, { ok: stored.ok });
      });
      return null;
    },
  });
  const { session_id } = await open(owner);
  const saved = await asked.call("POST", `/sessions/${session_id}/profile/save`, { name: "kept" });
  expect([saved.status, saved.body.files]).toEqual([201, 1]);
  expect((await asked.call("DELETE", `/sessions/${session_id}`)).status).toBe(204);
});

test("a session's place is told again: an emptied store learns it within the beat (rules/cluster#sessions-across-hubs)", async () => {
  const { publishPlacesOnce } = await import("#hub/fleet/sessions/places.ts");
  await workerAt(owner);
  const { session_id } = await open(owner);
  await cluster.shared.kv.delete(`session:${session_id}`);
  expect((await asked.call("GET", `/sessions/${session_id}/state`)).status).toBe(404);
  await publishPlacesOnce(owner.ctx);
  expect((await asked.call("GET", `/sessions/${session_id}/state`)).status).toBe(200);
});
