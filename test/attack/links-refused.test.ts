import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { linkKeys, openSealed, sealLink } from "#hub/platform/access/links/seal.ts";
import { createSignedLinks } from "#hub/platform/access/links/signed-links.ts";
import {
  ACTS,
  ADMIN,
  HANDSHAKE,
  streamOf,
  textOf,
  UPDATE,
  USER,
} from "#test/support/clients/link-calls.ts";
import { createFakeClock, type FakeClock } from "#test/support/fakes/fake-clock.ts";
import { openSessionAt, openSocketAt } from "#test/support/fakes/live-session.ts";
import { startCluster } from "#test/support/rigs/cluster.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";
import { type LinkHubs, startLinkHubs } from "#test/support/rigs/link-hubs.ts";
import { testServers } from "#test/support/servers/test-servers.ts";

/** Signed links that are changed, stale or of another hub, and calls for one by whoever may not make it: each is refused. */

setDefaultTimeout(120_000);

let hubs: LinkHubs;
let hub: TestHub;
let store: TestHub;
beforeAll(async () => {
  hubs = await startLinkHubs();
  ({ hub, store } = hubs);
});
afterAll(() => hubs.close());

describe("what is refused", () => {
  test("no changed, cut or made-up link opens anything, in one sentence", async () => {
    const session = await hubs.openSession();
    const path = await hubs.pathTo({ kind: "viewer", id: session.session_id });
    const text = textOf(path);
    const other = (sign: string) => (sign === "A" ? "B" : "A");
    const changed = [...text].flatMap((sign, i) =>
      sign === "." ? [] : [text.slice(0, i) + other(sign) + text.slice(i + 1)],
    );
    const forged = sealLink(linkKeys(Buffer.alloc(32)), {
      kind: "viewer",
      id: session.session_id,
      name: null,
      mode: "take-over",
      expires_at: Date.now() + 60_000,
      token_id: null,
    });
    const [sealed = "", signature = ""] = text.split(".");
    const made_up = [
      ...[sealed, `${sealed}.`, `.${signature}`, `${signature}.${sealed}`, `${text}.${signature}`],
      ...[forged, "x", "x".repeat(100_000), `${sealed}.${forged.split(".")[1]}`, `${text}%00`],
      ...[`${text}=`, `${text} `, encodeURIComponent(`${text}/../x`), session.session_id],
    ];
    for (const wrong of [...changed, ...made_up]) {
      const { status, body } = await hubs.get(`/links/${wrong}/viewer.js`);
      expect({ wrong, status, body }).toEqual({
        wrong,
        status: 403,
        body: {
          detail:
            "this link was not made here, or the administrator has ended it: ask for a new one",
        },
      });
    }
    const socket = openSocketAt(hub, `/links/${forged}/websockify`, ["binary"]);
    expect(await socket.opened).toBe(false);
    expect((await hubs.get(`/links/${text}/viewer.js`)).status).toBe(200);
  });

  test("an id that names nothing, a time out of bounds, and a caller without the token make no link", async () => {
    const session = await hubs.openSession();
    const id = session.session_id;
    expect((await hubs.make({ kind: "viewer", id: "V1StGXR8Z5jdHi6BmyT3KA" })).status).toBe(404);
    expect((await hubs.make({ kind: "asset", id: "k3v9x0a1b2c3d4" })).status).toBe(404);
    const job_id = await hubs.jobWithAssets();
    expect(
      (await hubs.make({ kind: "asset", id: job_id, name: "none.png" }, USER, store)).status,
    ).toBe(404);
    for (const wrong of [
      ...[{ expires_in_s: 0 }, { expires_in_s: 604_801 }, { expires_in_s: 1.5 }, { mode: "all" }],
      ...[{ name: "x" }, { expires_at: "2099-01-01T00:00:00Z" }, { kind: "job" }],
    ])
      expect((await hubs.make({ kind: "viewer", id, ...wrong })).status).toBe(422);
    expect((await hubs.make({ kind: "viewer" })).status).toBe(400);
    expect((await hubs.make({ kind: "viewer", id }, {})).status).toBe(401);
    expect((await hub.call("DELETE", "/links", undefined, { headers: USER })).status).toBe(401);
  });

  test("the key is answered nowhere, and ending all links closes what they opened", async () => {
    const session = await hubs.openSession();
    const path = await hubs.pathTo({ kind: "viewer", id: session.session_id });
    const secret = await hub.ctx.db.settings.get("link_secret");
    expect(secret).toEqual(expect.any(String));
    for (const settings of ["/settings", "/api/v1/settings", "/health"])
      expect((await hub.call("GET", settings, undefined, { headers: ADMIN })).text).not.toContain(
        String(secret),
      );
    const viewer = openSocketAt(hub, streamOf(path), ["binary"]);
    expect(await viewer.opened).toBe(true);
    expect((await hub.call("DELETE", "/links", undefined, { headers: ADMIN })).status).toBe(204);
    expect((await hubs.get(path)).status).toBe(403);
    expect(await viewer.closed).toMatchObject({ code: 4403 });
    expect(JSON.stringify(hub.log)).not.toContain(textOf(path));
    expect(
      (await hubs.get(await hubs.pathTo({ kind: "viewer", id: session.session_id }))).status,
    ).toBe(200);
  });
});

describe("time, and other hubs", () => {
  test("a link that has expired is 410, and the socket that it opened ends then", async () => {
    const clock: FakeClock = createFakeClock();
    const timed = await startTestHub({ alone: true, clock });
    try {
      const session = await openSessionAt(timed, hubs.screen.port);
      const { body } = await timed.call("POST", "/links", {
        kind: "viewer",
        id: session.session_id,
        expires_in_s: 3,
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
      const session = await openSessionAt(first, hubs.screen.port, { secret: "cluster-secret" });
      const ask = async (maker: TestHub, opener: TestHub) => {
        const { body } = await maker.call("POST", "/links", {
          kind: "viewer",
          id: session.session_id,
        });
        const { pathname } = new URL(body.url);
        expect((await opener.call("GET", pathname)).status).toBe(200);
        const viewer = openSocketAt(opener, `${pathname}websockify`, ["binary"]);
        expect(await viewer.opened).toBe(true);
        const { received } = await hubs.streamAt(session);
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
      const session = await openSessionAt(first, hubs.screen.port, { secret: "cluster-secret" });
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
        "the token with which this link was created was revoked or has expired: ask for a new link";
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
      expires_at: clock.now() + 1_000,
      token_id: null,
    };
    const links = await Promise.all(hubs.map((each) => each.make(grant)));
    for (const each of hubs) for (const link of links) expect(await each.read(link)).toEqual(grant);
    expect(openSealed(linkKeys(Buffer.alloc(32)), links[0] ?? "")).toBeNull();
  });
});
