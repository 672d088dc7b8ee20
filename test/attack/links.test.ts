import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { dropSession } from "#hub/fleet/sessions/registry.ts";
import type { HubSession } from "#hub/fleet/sessions/types.ts";
import { linkKeys, openSealed, sealLink } from "#hub/platform/access/links/seal.ts";
import { createSignedLinks } from "#hub/platform/access/links/signed-links.ts";
import { routeTable } from "#hub/platform/http/access.ts";
import { createHubApp } from "#hub/program/app.ts";
import { addressOf } from "#test/support/clients/attack-calls.ts";
import { createFakeClock, type FakeClock } from "#test/support/fakes/fake-clock.ts";
import { type FakeScreen, startFakeScreen } from "#test/support/fakes/fake-screen.ts";
import type { FakeWorker } from "#test/support/fakes/fake-worker.ts";
import { openSessionAt, openSocketAt } from "#test/support/fakes/live-session.ts";
import { startCluster } from "#test/support/rigs/cluster.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";
import { testServers } from "#test/support/servers/test-servers.ts";

/** Signed links: each opens what it names, for its time, and nothing else; who may only look sends nothing. */

setDefaultTimeout(120_000);

const TOKEN = "t0ken-of-the-test";
const PASSWORD = "password-of-the-test";
const USER = { authorization: `Bearer ${TOKEN}` };
const ADMIN = { ...USER, "x-admin-password": PASSWORD };

const HANDSHAKE = Buffer.concat([Buffer.from("RFB 003.008\n"), Buffer.from([1, 1])]);
const UPDATE = Buffer.from([3, 1, 0, 0, 0, 0, 0, 1, 0, 1]);
/** Everything by which a viewer changes something. */
const ACTS = Buffer.concat([
  Buffer.from([4, 1, 0, 0, 0, 0, 0, 0x61]),
  Buffer.from([5, 1, 0, 9, 0, 9]),
  Buffer.from([5, 0x81, 0, 9, 0, 9, 1]),
  Buffer.from([6, 0, 0, 0, 0, 0, 0, 2, 0x68, 0x69]),
  Buffer.from([250, 0, 1, 2]),
  Buffer.concat([Buffer.from([251, 0, 4, 0, 3, 0, 1, 0]), Buffer.alloc(16)]),
  Buffer.from([255, 0, 0, 1, 0, 0, 0, 0x61, 0, 0, 0, 30]),
]);

let hub: TestHub;
/** Has no sessions, so that its one worker gets every job. */
let store: TestHub;
let screen: FakeScreen;
let worker: FakeWorker;
beforeAll(async () => {
  const env = { SVC_API_TOKEN: TOKEN, SVC_ADMIN_PASSWORD: PASSWORD };
  hub = await startTestHub({ alone: true, env });
  screen = await startFakeScreen();
  store = await startTestHub({ alone: true, env });
  worker = await store.worker({ lanes: 20 });
});
afterAll(async () => {
  screen.stop();
  await hub.close();
  await store.close();
});

const make = (body: object, headers: Record<string, string> = USER, at = hub) =>
  at.call("POST", "/links", body, { headers });
async function pathTo(body: object, at = hub): Promise<string> {
  const { status, body: made } = await make(body, USER, at);
  expect({ status, made }).toMatchObject({ status: 201 });
  const { pathname, search } = new URL(made.url);
  return pathname + search;
}
const get = (path: string, at = hub) => at.call("GET", path);
const openSession = () => openSessionAt(hub, screen.port);
/** Of `/links/<text>/…`. */
const textOf = (path: string) => path.split("/")[2] ?? "";
const streamOf = (path: string) => `/links/${textOf(path)}/websockify`;

async function jobWithAssets(...names: string[]): Promise<string> {
  const { body } = await store.call("POST", "/jobs", { url: TARGET }, { headers: USER });
  const job = await worker.assigned.next(({ job_id }) => job_id === body.job_id);
  for (const name of names) await worker.putAsset(job, `body of ${name}`, { name });
  return job.job_id;
}
/** The next stream that the bridge is asked for on behalf of this session. */
const streamAt = (session: HubSession) =>
  screen.streams.next(({ path }) => path.includes(session.session_id));

describe("what a link opens", () => {
  test("a viewer's link shows the page, its script and its socket without a token, and tells no session id", async () => {
    const session = await openSession();
    const { body } = await make({ kind: "viewer", id: session.session_id, expires_in_s: 600 });
    expect(body).toEqual({
      ...{ kind: "viewer", id: session.session_id, name: null, mode: "view" },
      url: expect.stringMatching(/\/links\/[\w-]+[.][\w-]{43}\/[?].*view_only=true$/),
      expires_at: expect.any(String),
    });
    const in_s = (Date.parse(body.expires_at) - Date.now()) / 1_000;
    expect(in_s).toBeGreaterThan(0);
    expect(in_s).toBeLessThanOrEqual(600);
    const [, sealed = ""] = /links\/([\w-]+)\./.exec(body.url) ?? [];
    for (const read of [body.url, Buffer.from(sealed, "base64url").toString("latin1")])
      expect(read).not.toContain(session.session_id);
    const path = new URL(body.url).pathname;
    const page = await get(path);
    expect(page.status).toBe(200);
    expect(page.text).toContain("viewer.js");
    expect(page.headers.get("referrer-policy")).toBe("no-referrer");
    expect(page.headers.get("x-frame-options")).toBeNull();
    expect(page.text).not.toContain(session.session_id);
    expect((await get(`${path}viewer.js`)).status).toBe(200);
    const bare = await get(`${path.slice(0, -1)}?resize=scale`);
    expect(bare.status).toBe(308);
    const led_to = new URL(bare.headers.get("location") ?? "", `${hub.url}${path.slice(0, -1)}`);
    expect(led_to.pathname + led_to.search).toBe(`${path}?resize=scale`);
    const viewer = openSocketAt(hub, streamOf(path), ["binary"], {
      origin: "https://elsewhere.test",
    });
    expect(await viewer.opened).toBe(true);
    await streamAt(session);
    await dropSession(hub.ctx, session, "it was deleted");
    expect(await viewer.closed).toEqual({ code: 4404, reason: "session ended: it was deleted" });
    expect((await get(path)).status).toBe(404);
  });

  test("an asset's link opens that asset; one of a job, all of its assets and none of another's", async () => {
    const job_id = await jobWithAssets("one.png", "two words.png");
    const other = await jobWithAssets("secret.png");
    const one = await pathTo({ kind: "asset", id: job_id, name: "two words.png" }, store);
    expect(await get(one, store)).toMatchObject({ status: 200, text: "body of two words.png" });
    const below = (path: string, name: string) => `/links/${textOf(path)}/${name}`;
    expect((await get(below(one, "assets/one.png"), store)).status).toBe(404);
    const listed = await get(below(one, "assets.json"), store);
    expect(listed.body).toMatchObject({ count: 1, items: [{ name: "two words.png" }] });
    const all = await pathTo({ kind: "asset", id: job_id }, store);
    const { body } = await get(all, store);
    expect(body).toMatchObject({ job_id, count: 2 });
    for (const { href, name } of body.items) {
      const { href: at } = new URL(href, store.url + all);
      const answer = await get(at.slice(store.url.length), store);
      expect(answer).toMatchObject({ status: 200, text: `body of ${name}` });
      expect(answer.headers.get("referrer-policy")).toBe("no-referrer");
    }
    expect((await get(below(all, "assets/secret.png"), store)).status).toBe(404);
    for (const name of ["..%2F..%2Flog.txt", "%2e%2e/log.txt", `../../${other}/assets/secret.png`])
      expect((await get(below(all, `assets/${name}`), store)).status).not.toBe(200);
  });

  test("a CDP link opens the session's DevTools socket, and its discovery names the link", async () => {
    const session = await openSession();
    const { body } = await make({ kind: "cdp", id: session.session_id });
    expect(body.mode).toBe("take-over");
    expect(body.url).toMatch(/^ws:\/\/.*\/cdp$/);
    const path = new URL(body.url).pathname;
    const client = openSocketAt(hub, path);
    expect(await client.opened).toBe(true);
    expect((await streamAt(session)).path).toBe(`/sessions/${session.session_id}/cdp`);
    client.socket.close();
    // As of Chromium's own port: no page of another origin.
    const foreign = openSocketAt(hub, path, [], { origin: "https://evil.example" });
    expect(await foreign.opened).toBe(false);
  });

  test("no link opens a route of another kind, nor anything else that asks for the token", async () => {
    const session = await openSession();
    const job_id = await jobWithAssets("one.png");
    const links = {
      viewer: {
        at: hub,
        path: await pathTo({ kind: "viewer", id: session.session_id, mode: "take-over" }),
      },
      cdp: { at: hub, path: await pathTo({ kind: "cdp", id: session.session_id }) },
      asset: { at: store, path: await pathTo({ kind: "asset", id: job_id }, store) },
    };
    const rows = routeTable(createHubApp(hub.ctx));
    const opened = rows.filter(({ rules }) => rules.access === "link");
    expect(opened.length).toBeGreaterThan(10);
    for (const [kind, { at, path }] of Object.entries(links))
      for (const { path: route, rules } of opened) {
        if (rules.opens === kind) continue;
        const { status, body } = await get(addressOf(route.replace(":link", textOf(path))), at);
        expect({ route, kind, status, body }).toEqual({
          ...{ route, kind, status: 403 },
          body: { detail: "this link opens something else" },
        });
      }
    const text = textOf(links.viewer.path);
    for (const { method, path, rules } of rows) {
      if (method !== "GET" || !["view", "operate", "admin"].includes(rules.access)) continue;
      const given: Record<string, string>[] = [
        { authorization: `Bearer ${text}` },
        { cookie: `flotilla_token=${text}` },
      ];
      for (const headers of given) {
        const asked = await hub.call("GET", addressOf(path), undefined, { headers });
        expect({ path, status: asked.status }).toEqual({ path, status: 401 });
      }
    }
  });
});

describe("who may only look", () => {
  test.each([
    ["whatever its query says", "?view_only=false"],
    ["as its page asks", "?view_only=true"],
  ])("sends no key, click, clipboard or size, %s, however it is cut", async (_how, query) => {
    const session = await openSession();
    const path = await pathTo({ kind: "viewer", id: session.session_id });
    for (const piece of [1, 3, 1_000]) {
      const viewer = openSocketAt(hub, streamOf(path) + query, ["binary"]);
      expect(await viewer.opened).toBe(true);
      const { received } = await streamAt(session);
      const whole = Buffer.concat([HANDSHAKE, ACTS, UPDATE, ACTS, UPDATE]);
      for (let at = 0; at < whole.length; at += piece)
        viewer.socket.send(whole.subarray(at, at + piece));
      const seen = Buffer.concat([HANDSHAKE, UPDATE, UPDATE]);
      while (Buffer.concat(received.all).length < seen.length) await received.next();
      expect(Buffer.concat(received.all)).toEqual(seen);
      viewer.socket.close();
    }
  });

  test("a link to take over sends them, unless its query asks to watch", async () => {
    const session = await openSession();
    const path = await pathTo({ kind: "viewer", id: session.session_id, mode: "take-over" });
    for (const [query, seen] of [
      ["", [HANDSHAKE, ACTS, UPDATE]],
      ["?view_only=1", [HANDSHAKE, UPDATE]],
    ] as const) {
      const viewer = openSocketAt(hub, streamOf(path) + query, ["binary"]);
      await viewer.opened;
      const { received } = await streamAt(session);
      viewer.socket.send(Buffer.concat([HANDSHAKE, ACTS, UPDATE]));
      const told = Buffer.concat([...seen]);
      while (Buffer.concat(received.all).length < told.length) await received.next();
      expect(Buffer.concat(received.all)).toEqual(told);
      viewer.socket.close();
    }
  });

  test("gets no CDP link: a browser that is steered cannot be kept to looking", async () => {
    const session = await openSession();
    const { status, body } = await make({ kind: "cdp", id: session.session_id, mode: "view" });
    expect(status).toBe(422);
    expect(JSON.stringify(body)).toContain("DevTools cannot be kept to looking");
  });
});

describe("what is refused", () => {
  test("no changed, cut or made-up link opens anything, in one sentence", async () => {
    const session = await openSession();
    const path = await pathTo({ kind: "viewer", id: session.session_id });
    const text = textOf(path);
    const other = (sign: string) => (sign === "A" ? "B" : "A");
    const changed = [...text].flatMap((sign, i) =>
      sign === "." ? [] : [text.slice(0, i) + other(sign) + text.slice(i + 1)],
    );
    const forged = sealLink(linkKeys(Buffer.alloc(32)), {
      ...{ kind: "viewer", id: session.session_id, name: null, mode: "take-over" },
      ...{ expires_at: Date.now() + 60_000, token_id: null },
    });
    const [sealed = "", signature = ""] = text.split(".");
    const made_up = [
      ...[sealed, `${sealed}.`, `.${signature}`, `${signature}.${sealed}`, `${text}.${signature}`],
      ...[forged, "x", "x".repeat(100_000), `${sealed}.${forged.split(".")[1]}`, `${text}%00`],
      ...[`${text}=`, `${text} `, encodeURIComponent(`${text}/../x`), session.session_id],
    ];
    for (const wrong of [...changed, ...made_up]) {
      const { status, body } = await get(`/links/${wrong}/viewer.js`);
      expect({ wrong, status, body }).toEqual({
        ...{ wrong, status: 403 },
        body: {
          detail:
            "this link was not made here, or the administrator has ended it: ask for a new one",
        },
      });
    }
    const socket = openSocketAt(hub, `/links/${forged}/websockify`, ["binary"]);
    expect(await socket.opened).toBe(false);
    expect((await get(`/links/${text}/viewer.js`)).status).toBe(200);
  });

  test("an id that names nothing, a time out of bounds, and a caller without the token make no link", async () => {
    const session = await openSession();
    const id = session.session_id;
    expect((await make({ kind: "viewer", id: "V1StGXR8Z5jdHi6BmyT3KA" })).status).toBe(404);
    expect((await make({ kind: "asset", id: "k3v9x0a1b2c3d4" })).status).toBe(404);
    const job_id = await jobWithAssets();
    expect((await make({ kind: "asset", id: job_id, name: "none.png" }, USER, store)).status).toBe(
      404,
    );
    for (const wrong of [
      ...[{ expires_in_s: 0 }, { expires_in_s: 604_801 }, { expires_in_s: 1.5 }, { mode: "all" }],
      ...[{ name: "x" }, { expires_at: "2099-01-01T00:00:00Z" }, { kind: "job" }],
    ])
      expect((await make({ kind: "viewer", id, ...wrong })).status).toBe(422);
    expect((await make({ kind: "viewer" })).status).toBe(400);
    expect((await make({ kind: "viewer", id }, {})).status).toBe(401);
    expect((await hub.call("DELETE", "/links", undefined, { headers: USER })).status).toBe(401);
  });

  test("the key is answered nowhere, and ending all links closes what they opened", async () => {
    const session = await openSession();
    const path = await pathTo({ kind: "viewer", id: session.session_id });
    const secret = await hub.ctx.db.settings.get("link_secret");
    expect(secret).toEqual(expect.any(String));
    for (const settings of ["/settings", "/api/v1/settings", "/health"])
      expect((await hub.call("GET", settings, undefined, { headers: ADMIN })).text).not.toContain(
        String(secret),
      );
    const viewer = openSocketAt(hub, streamOf(path), ["binary"]);
    expect(await viewer.opened).toBe(true);
    expect((await hub.call("DELETE", "/links", undefined, { headers: ADMIN })).status).toBe(204);
    expect((await get(path)).status).toBe(403);
    expect(await viewer.closed).toMatchObject({ code: 4403 });
    expect(JSON.stringify(hub.log)).not.toContain(textOf(path));
    expect((await get(await pathTo({ kind: "viewer", id: session.session_id }))).status).toBe(200);
  });
});

describe("time, and other hubs", () => {
  test("a link that has expired is 410, and the socket that it opened ends then", async () => {
    const clock: FakeClock = createFakeClock();
    const timed = await startTestHub({ alone: true, clock });
    try {
      const session = await openSessionAt(timed, screen.port);
      const { body } = await timed.call("POST", "/links", {
        ...{ kind: "viewer", id: session.session_id, expires_in_s: 3 },
      });
      const path = new URL(body.url).pathname;
      const viewer = openSocketAt(timed, `${path}websockify`, ["binary"]);
      expect(await viewer.opened).toBe(true);
      await clock.advance(2_999);
      expect((await timed.call("GET", `${path}viewer.js`)).status).toBe(200);
      await clock.advance(1);
      expect(await timed.call("GET", `${path}viewer.js`)).toMatchObject({
        status: 410,
        body: { detail: "this link has expired: ask for a new one" },
      });
      expect(await viewer.closed).toEqual({
        code: 4410,
        reason: "this link has expired: ask for a new one",
      });
    } finally {
      await timed.close();
    }
  });

  test("a link made at one hub opens the session of another by any, also with a newer key", async () => {
    const { postgres } = await testServers();
    const cluster = await startCluster({ db_url: await postgres.createDatabase() });
    try {
      const [first, second] = cluster.hubs;
      if (!first || !second) throw new Error("no hubs");
      const session = await openSessionAt(first, screen.port, { secret: "cluster-secret" });
      const ask = async (maker: TestHub, opener: TestHub) => {
        const { body } = await maker.call("POST", "/links", {
          ...{ kind: "viewer", id: session.session_id },
        });
        const { pathname } = new URL(body.url);
        expect((await opener.call("GET", pathname)).status).toBe(200);
        const viewer = openSocketAt(opener, `${pathname}websockify`, ["binary"]);
        expect(await viewer.opened).toBe(true);
        const { received } = await streamAt(session);
        viewer.socket.send(Buffer.concat([HANDSHAKE, ACTS, UPDATE]));
        const seen = Buffer.concat([HANDSHAKE, UPDATE]);
        while (Buffer.concat(received.all).length < seen.length) await received.next();
        expect(Buffer.concat(received.all)).toEqual(seen);
        viewer.socket.close();
      };
      await ask(first, second);
      await ask(second, first);
      await first.ctx.signed_links.endAll();
      await ask(first, second);
    } finally {
      await cluster.close();
    }
  });

  test("a link ends with the token with which it was made, and so do its sockets, at every hub; the links of others stay", async () => {
    const { postgres } = await testServers();
    const cluster = await startCluster({ db_url: await postgres.createDatabase() });
    try {
      const [first, second] = cluster.hubs;
      if (!first || !second) throw new Error("no hubs");
      const session = await openSessionAt(first, screen.port, { secret: "cluster-secret" });
      const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });
      const admin = (await first.call("POST", "/tokens", { name: "stays", role: "admin" })).body;
      const wanted = { name: "leaves", role: "operator" };
      const leaver = (await first.call("POST", "/tokens", wanted, bearer(admin.token))).body;
      const linkBy = async (at: TestHub, { token }: { token: string }) => {
        const asked = { kind: "viewer", id: session.session_id };
        const { body } = await at.call("POST", "/links", asked, bearer(token));
        return new URL(body.url).pathname;
      };
      const stays = await linkBy(second, admin);
      const kept = openSocketAt(second, `${stays}websockify`, ["binary"]);
      expect(await kept.opened).toBe(true);
      const ends = await Promise.all([linkBy(first, leaver), linkBy(second, leaver)]);
      const opened = [];
      for (const at of [first, second])
        for (const path of ends) {
          expect((await at.call("GET", path)).status).toBe(200);
          opened.push(openSocketAt(at, `${path}websockify`, ["binary"]));
        }
      for (const viewer of opened) expect(await viewer.opened).toBe(true);

      const gone = await first.call("DELETE", `/tokens/${leaver.token_id}`, undefined, {
        ...bearer(admin.token),
      });
      expect(gone.status).toBe(204);
      const why =
        "the token with which this link was made was revoked or has expired: ask for a new link";
      // At the hub that revoked it at once.
      expect(await first.call("GET", ends[0])).toMatchObject({
        status: 403,
        body: { detail: why },
      });
      for (const viewer of opened) expect(await viewer.closed).toEqual({ code: 4403, reason: why });
      for (const at of [first, second])
        for (const path of ends) expect((await at.call("GET", path)).status).toBe(403);
      expect((await second.call("GET", stays)).status).toBe(200);
      expect(kept.socket.readyState).toBe(WebSocket.OPEN);
      kept.socket.close();
    } finally {
      await cluster.close();
    }
  });

  test("of hubs that need the first key at once one makes it", async () => {
    const stored = new Map<string, unknown>();
    const settings = {
      get: async (key: string) => stored.get(key) ?? null,
      set: async (key: string, value: unknown) => void stored.set(key, value),
      add: async (key: string, value: unknown) => !stored.has(key) && !!stored.set(key, value),
    };
    const clock = createFakeClock();
    const tokens = { counts: async () => false };
    const hubs = [1, 2, 3].map(() => createSignedLinks({ settings, tokens, clock }));
    const grant = {
      ...({ kind: "asset", id: "job", name: null, mode: "view" } as const),
      ...{ expires_at: clock.now() + 1_000, token_id: null },
    };
    const links = await Promise.all(hubs.map((each) => each.make(grant)));
    for (const each of hubs) for (const link of links) expect(await each.read(link)).toEqual(grant);
    expect(openSealed(linkKeys(Buffer.alloc(32)), links[0] ?? "")).toBeNull();
  });
});
