import { expect, setDefaultTimeout, test } from "bun:test";
import { createProfileSweeper } from "#hub/fleet/registries/profile-sweep.ts";
import { beginWriting } from "#hub/fleet/registries/profile-writers.ts";
import { systemClock } from "#shared/kit/clock.ts";
import { SESSION_ACTIONS } from "#shared/protocol/actions/session-actions.ts";
import { newSessionId } from "#shared/protocol/ids.ts";
import { makeTarGz } from "#test/support/clients/tar.ts";
import type { ClusterHub } from "#test/support/rigs/cluster.ts";
import { TARGET } from "#test/support/rigs/hub.ts";
import { shareTwoHubs } from "#test/support/rigs/two-hubs.ts";

/** Sessions, and calls of workers, are answered right whichever hub is asked (rules/cluster#calls-are-passed-on). */

setDefaultTimeout(180_000);
const rig = shareTwoHubs();

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
  const worker = await rig.workerAt(rig.owner, {
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
  const { session_id: sid } = await open(rig.owner, { url: TARGET });
  const path = `/sessions/${sid}`;
  for (const action of Object.keys(SESSION_ACTIONS)) {
    const body = ARGS[action] ?? {};
    const [there, here] = [
      await rig.owner.call("POST", `${path}/${action}`, body),
      await rig.asked.call("POST", `${path}/${action}`, body),
    ];
    expect([action, here.status]).toEqual([action, 200]);
    expect({ ...here.body, ms: 0 }).toEqual({ ...there.body, ms: 0 });
  }
  const raw = { headers: { accept: "image/png" } };
  const picture = await rig.asked.call("POST", `${path}/screenshot`, {}, raw);
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
    const there = await rig.owner.call(method, at, body);
    const here = await rig.asked.call(method, at, body);
    expect([below, here.status, here.text]).toEqual([below, there.status, there.text]);
  }
  // What is no route has no hub that owns it.
  expect((await rig.asked.call("GET", `${path}/nothing`)).status).toBe(404);
  expect((await rig.asked.call("GET", path)).body).toMatchObject({ session_id: sid });
  const { worker_id } = worker;
  const there = (await rig.owner.call("GET", `/workers/${worker_id}`)).body;
  // Its lanes are those of the last look at the shared registry.
  const { lanes: _lanes, in_flight: _in_flight, ...steady } = there;
  expect((await rig.asked.call("GET", `/workers/${worker_id}`)).body).toMatchObject(steady);
  rig.bridge.files.set("a.txt", { body: "text", mime: "text/plain" });
  expect((await rig.asked.call("GET", `${path}/files/a.txt`)).text).toBe("text");
  const blob = JSON.stringify("x".repeat(300_000));
  rig.bridge.blobs.set("b1", blob);
  worker.calls.clear();
  expect((await rig.asked.call("POST", `${path}/nothing`, {})).status).toBe(404);
  expect((await rig.asked.call("POST", `${path}/evaluate`, { code: 1 })).status).toBe(422);
  expect((await rig.asked.call("POST", `${path}/evaluate`, "{")).status).toBe(400);
  const once = { headers: { "idempotency-key": `end-${sid}` } };
  expect((await rig.asked.call("DELETE", path, undefined, once)).status).toBe(204);
  for (const hub of [rig.asked, rig.owner]) {
    expect((await hub.call("GET", `${path}/state`)).status).toBe(404);
    // A repeated call gets its first answer, wherever it is repeated.
    expect((await hub.call("DELETE", path, undefined, once)).status).toBe(204);
  }
  expect(await rig.cluster.shared.kv.get(`session:${sid}`)).toBeNull();
});

test("a failed action, a slow one and one of a worker that goes away are told as at the owner (rules/session-actions#failed-actions)", async () => {
  const worker = await rig.workerAt(rig.owner, {
    on_call: ({ action }) =>
      action === "evaluate"
        ? null
        : { ok: false, kind: "page", error: { name: "Error", message: "no such element" } },
  });
  const { session_id: sid } = await open(rig.owner);
  expect(await rig.asked.call("POST", `/sessions/${sid}/click`, { selector: "#a" })).toMatchObject({
    status: 422,
    body: { detail: "no such element" },
  });
  const running = rig.asked.call("POST", `/sessions/${sid}/evaluate`, {
    code: "1",
    timeout_s: 600,
  });
  await worker.calls.next((call) => call.action === "evaluate");
  await worker.close();
  expect(await running).toMatchObject({
    status: 502,
    body: { detail: expect.stringMatching(/^its worker is gone: the link to worker w2 broke/) },
  });
  expect((await rig.asked.call("GET", `/sessions/${sid}/state`)).status).toBe(404);
});

test("GET /sessions lists those of every hub, oldest first; a silent hub is left out", async () => {
  await rig.workerAt(rig.asked);
  await rig.workerAt(rig.owner);
  const first = await open(rig.owner, { worker_id: `w${rig.workers}` });
  await systemClock.sleep(2);
  const second = await open(rig.owner, { worker_id: `w${rig.workers - 1}` });
  expect(second.worker_id).toBe(`w${rig.workers - 1}`);
  for (const hub of [rig.asked, rig.owner]) {
    const { sessions } = (await hub.call("GET", "/sessions")).body;
    expect(sessions.map((s: { session_id: string }) => s.session_id)).toEqual([
      first.session_id,
      second.session_id,
    ]);
  }
  const { url } = rig.owner.ctx.advertise;
  await rig.cluster.shared.kv.set(
    "hub:gone",
    { hub_id: "gone", url: "http://127.0.0.1:9", version: "t", at: 0 },
    60_000,
  );
  expect((await rig.asked.call("GET", "/sessions")).body.sessions).toHaveLength(2);
  await rig.cluster.shared.kv.delete("hub:gone");
  expect(url).toBe(rig.owner.front.url);
});

test("POST /sessions goes where the free lane is, and to the worker it names (rules/cluster#sessions-across-hubs)", async () => {
  const worker = await rig.workerAt(rig.owner, { lanes: 2 });
  await peersKnow();
  const keyed = { headers: { "idempotency-key": `open-${rig.workers}` } };
  const session = await open(rig.asked, { url: TARGET }, keyed);
  expect(session.worker_id).toBe(worker.worker_id);
  expect(rig.owner.ctx.sessions.has(session.session_id)).toBe(true);
  // The key is the fleet's: the same call again opens nothing.
  expect(await open(rig.asked, { url: TARGET }, keyed)).toEqual(session);
  expect(await open(rig.owner, { url: TARGET }, keyed)).toEqual(session);
  const named = await open(rig.asked, { worker_id: worker.worker_id });
  expect(named.worker_id).toBe(worker.worker_id);
  expect((await rig.asked.call("POST", "/sessions", { worker_id: "w999" })).status).toBe(404);
  expect((await rig.asked.call("POST", "/sessions", { use_profile: "none" })).status).toBe(422);
});

/** The asked hub has heard of a free lane at the owner. */
async function peersKnow(): Promise<void> {
  while (![...rig.asked.ctx.cluster.peers.values()].some((peer) => peer.best !== null))
    await systemClock.sleep(5);
}

test("a POST that waits is served by whichever hub has a free lane first (rules/cluster#sessions-across-hubs)", async () => {
  const waiting = rig.asked.call("POST", "/sessions", {});
  while (rig.asked.ctx.lanes_wanted.size === 0) await systemClock.sleep(1);
  const worker = await rig.workerAt(rig.owner);
  const answer = await waiting;
  expect([answer.status, answer.body.worker_id]).toEqual([201, worker.worker_id]);
  expect(rig.asked.ctx.lanes_wanted.size).toBe(0);
});

test("no lane at any hub within the wait is one 503 with Retry-After (rules/sessions#no-lane-for-a-session)", async () => {
  await rig.workerAt(rig.asked);
  await open(rig.asked);
  const answer = await rig.owner.call("POST", "/sessions", {});
  expect([answer.status, answer.body.detail, answer.headers.get("retry-after")]).toEqual([
    503,
    "fleet at capacity",
    "10",
  ]);
});

test("unknown is 404 forever; a silent store is 503 with Retry-After; nothing else is asked of it (rules/cluster#calls-are-passed-on)", async () => {
  const { kv } = rig.asked.ctx;
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
    expect((await rig.asked.call("GET", `/sessions/${sid}/state`)).status).toBe(404);
    // The second read tells whether the store was emptied.
    expect(reads).toEqual([`session:${sid}`, `hub:${rig.asked.ctx.hub_id}`]);
    reads = [];
    expect((await rig.asked.call("GET", "/sessions/x/state")).status).toBe(404);
    expect(reads).toEqual([]);
    await rig.workerAt(rig.asked);
    const { session_id } = await open(rig.asked);
    reads = [];
    expect((await rig.asked.call("GET", `/sessions/${session_id}/state`)).status).toBe(200);
    expect(reads).toEqual([]);
    Object.assign(kv, { get: () => Promise.reject(new Error("away")) });
    const answer = await rig.asked.call("GET", `/sessions/${sid}/state`);
    expect([answer.status, answer.headers.get("retry-after"), answer.body.detail]).toEqual([
      503,
      "5",
      "the shared store does not answer",
    ]);
    expect((await rig.asked.call("GET", `/sessions/${session_id}/state`)).status).toBe(200);
  } finally {
    Object.assign(kv, { get });
  }
});

test("uploads of a worker that reach the wrong hub are stored by the hub of its link (rules/cluster#calls-are-passed-on)", async () => {
  const worker = await rig.workerAt(rig.owner);
  const { body } = await rig.owner.call("POST", "/jobs", { url: TARGET });
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
  expect((await put(rig.asked, upload_token)).status).toBe(200);
  expect((await put(rig.asked, "wrong")).status).toBe(401);
  for (const hub of [rig.asked, rig.owner]) {
    const page = await fetch(`${hub.url}/jobs/${body.job_id}/page.html`);
    expect((await page.arrayBuffer()).byteLength).toBe(bytes.length);
  }
  worker.finish(job);
  await rig.owner.signals.next("lane freed");
});

test("a running job's picture is taken at any hub (rules/documents#screenshot-of-a-running-job)", async () => {
  const worker = await rig.workerAt(rig.owner, {
    on_call: () => ({ result: { mime: "image/png", width: 1, height: 1, content_base64: "AAAA" } }),
  });
  const { body } = await rig.owner.call("POST", "/jobs", { url: TARGET });
  const job = await worker.assigned.next();
  const path = `/jobs/${body.job_id}/screenshot/capture`;
  const answer = await rig.asked.call("POST", path, { format: "png" });
  expect([answer.status, answer.body.kind]).toEqual([200, "image"]);
  worker.finish(job);
  await rig.owner.signals.next("lane freed");
  expect((await rig.asked.call("POST", path, {})).status).toBe(409);
});

test("one writer per profile name in the fleet; the sweep leaves alone what another hub writes (rules/profiles#one-writer)", async () => {
  const upload = async (hub: ClusterHub, text: string) =>
    fetch(`${hub.url}/profiles/shared`, {
      method: "POST",
      headers: { "content-type": "application/x-tar" },
      body: await makeTarGz([["Default/Cookies", text]]),
    });
  expect((await upload(rig.asked, "1")).status).toBe(201);
  expect((await upload(rig.owner, "2")).status).toBe(200);
  const keys = () => rig.asked.ctx.objects.list("profiles/p-shared");
  expect(await keys()).toHaveLength(2);
  const done = await beginWriting(rig.owner.ctx, "shared", "test");
  expect((await upload(rig.asked, "3")).status).toBe(409);
  expect((await rig.asked.call("DELETE", "/profiles/shared")).status).toBe(409);
  const sweeper = createProfileSweeper(rig.asked.ctx);
  await sweeper.sweep();
  await sweeper.sweep();
  expect(await keys()).toHaveLength(2);
  await done();
  await sweeper.sweep();
  await sweeper.sweep();
  expect(await keys()).toHaveLength(1);
  expect((await upload(rig.asked, "3")).status).toBe(200);
  expect((await rig.owner.call("DELETE", "/profiles/shared")).status).toBe(204);
});

test("a session's profile is saved from any hub, by a worker that reaches any hub", async () => {
  const archive = await makeTarGz([["Default/Cookies", "kept"]]);
  const worker = await rig.workerAt(rig.owner, {
    on_call: (call) => {
      if (call.action !== "profile_save") return {};
      const path = `/workers/${worker.worker_id}/sessions/${call.session_id}/profile/${call.args.name}`;
      void worker.registered.then(async ({ upload_token }) => {
        const stored = await fetch(rig.asked.url + path, {
          method: "PUT",
          body: archive,
          headers: { authorization: `Bearer ${upload_token}` },
        });
        worker.reply(call, { ok: stored.ok });
      });
      return null;
    },
  });
  const { session_id } = await open(rig.owner);
  const saved = await rig.asked.call("POST", `/sessions/${session_id}/profile/save`, {
    name: "kept",
  });
  expect([saved.status, saved.body.files]).toEqual([201, 1]);
  expect((await rig.asked.call("DELETE", `/sessions/${session_id}`)).status).toBe(204);
});

test("a session's place is told again: an emptied store learns it within the beat (rules/cluster#sessions-across-hubs)", async () => {
  const { publishPlacesOnce } = await import("#hub/fleet/sessions/places.ts");
  await rig.workerAt(rig.owner);
  const { session_id } = await open(rig.owner);
  await rig.cluster.shared.kv.delete(`session:${session_id}`);
  expect((await rig.asked.call("GET", `/sessions/${session_id}/state`)).status).toBe(404);
  await publishPlacesOnce(rig.owner.ctx);
  expect((await rig.asked.call("GET", `/sessions/${session_id}/state`)).status).toBe(200);
});
