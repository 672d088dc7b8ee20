import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { dropSession } from "#hub/fleet/sessions/registry.ts";
import { routeTable } from "#hub/platform/http/access.ts";
import { createHubApp } from "#hub/program/app.ts";
import { addressOf } from "#test/support/clients/attack-calls.ts";
import { ACTS, HANDSHAKE, streamOf, textOf, UPDATE } from "#test/support/clients/link-calls.ts";
import { openSocketAt } from "#test/support/fakes/live-session.ts";
import type { TestHub } from "#test/support/rigs/hub.ts";
import { type LinkHubs, startLinkHubs } from "#test/support/rigs/link-hubs.ts";

/** Signed links: each opens what it names, for its time, and nothing else; a viewer who may only look sends nothing. */

setDefaultTimeout(120_000);

let hubs: LinkHubs;
let hub: TestHub;
let store: TestHub;
beforeAll(async () => {
  hubs = await startLinkHubs();
  ({ hub, store } = hubs);
});
afterAll(() => hubs.close());

describe("what a link opens", () => {
  test("a viewer's link shows the page, its script and its socket without a token, and tells no session id", async () => {
    const session = await hubs.openSession();
    const { body } = await hubs.make({ kind: "viewer", id: session.session_id, expires_in_s: 600 });
    expect(body).toEqual({
      kind: "viewer",
      id: session.session_id,
      name: null,
      mode: "view",
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
    const page = await hubs.get(path);
    expect(page.status).toBe(200);
    expect(page.text).toContain("viewer.js");
    expect(page.headers.get("referrer-policy")).toBe("no-referrer");
    expect(page.headers.get("x-frame-options")).toBeNull();
    expect(page.text).not.toContain(session.session_id);
    expect((await hubs.get(`${path}viewer.js`)).status).toBe(200);
    const bare = await hubs.get(`${path.slice(0, -1)}?resize=scale`);
    expect(bare.status).toBe(308);
    const led_to = new URL(bare.headers.get("location") ?? "", `${hub.url}${path.slice(0, -1)}`);
    expect(led_to.pathname + led_to.search).toBe(`${path}?resize=scale`);
    const viewer = openSocketAt(hub, streamOf(path), ["binary"], {
      origin: "https://elsewhere.test",
    });
    expect(await viewer.opened).toBe(true);
    await hubs.streamAt(session);
    await dropSession(hub.ctx, session, "it was deleted");
    expect(await viewer.closed).toEqual({ code: 4404, reason: "session ended: it was deleted" });
    expect((await hubs.get(path)).status).toBe(404);
  });

  test("an asset's link opens that asset; one of a job, all of its assets and none of another's", async () => {
    const job_id = await hubs.jobWithAssets("one.png", "two words.png");
    const other = await hubs.jobWithAssets("secret.png");
    const one = await hubs.pathTo({ kind: "asset", id: job_id, name: "two words.png" }, store);
    expect(await hubs.get(one, store)).toMatchObject({
      status: 200,
      text: "body of two words.png",
    });
    const below = (path: string, name: string) => `/links/${textOf(path)}/${name}`;
    expect((await hubs.get(below(one, "assets/one.png"), store)).status).toBe(404);
    const listed = await hubs.get(below(one, "assets.json"), store);
    expect(listed.body).toMatchObject({ count: 1, items: [{ name: "two words.png" }] });
    const all = await hubs.pathTo({ kind: "asset", id: job_id }, store);
    const { body } = await hubs.get(all, store);
    expect(body).toMatchObject({ job_id, count: 2 });
    for (const { href, name } of body.items) {
      const { href: at } = new URL(href, store.url + all);
      const answer = await hubs.get(at.slice(store.url.length), store);
      expect(answer).toMatchObject({ status: 200, text: `body of ${name}` });
      expect(answer.headers.get("referrer-policy")).toBe("no-referrer");
    }
    expect((await hubs.get(below(all, "assets/secret.png"), store)).status).toBe(404);
    for (const name of ["..%2F..%2Flog.txt", "%2e%2e/log.txt", `../../${other}/assets/secret.png`])
      expect((await hubs.get(below(all, `assets/${name}`), store)).status).not.toBe(200);
  });

  test("a CDP link opens the session's DevTools socket, and its discovery names the link", async () => {
    const session = await hubs.openSession();
    const { body } = await hubs.make({ kind: "cdp", id: session.session_id });
    expect(body.mode).toBe("take-over");
    expect(body.url).toMatch(/^ws:\/\/.*\/cdp$/);
    const path = new URL(body.url).pathname;
    const client = openSocketAt(hub, path);
    expect(await client.opened).toBe(true);
    expect((await hubs.streamAt(session)).path).toBe(`/sessions/${session.session_id}/cdp`);
    client.socket.close();
    // As of Chromium's own port: no page of another origin.
    const foreign = openSocketAt(hub, path, [], { origin: "https://evil.example" });
    expect(await foreign.opened).toBe(false);
  });

  test("no link opens a route of another kind, nor anything else that asks for the token", async () => {
    const session = await hubs.openSession();
    const job_id = await hubs.jobWithAssets("one.png");
    const links = {
      viewer: {
        at: hub,
        path: await hubs.pathTo({ kind: "viewer", id: session.session_id, mode: "take-over" }),
      },
      cdp: { at: hub, path: await hubs.pathTo({ kind: "cdp", id: session.session_id }) },
      asset: { at: store, path: await hubs.pathTo({ kind: "asset", id: job_id }, store) },
    };
    const rows = routeTable(createHubApp(hub.ctx));
    const opened = rows.filter(({ rules }) => rules.access === "link");
    expect(opened.length).toBeGreaterThan(10);
    for (const [kind, { at, path }] of Object.entries(links))
      for (const { path: route, rules } of opened) {
        if (rules.opens === kind) continue;
        const { status, body } = await hubs.get(
          addressOf(route.replace(":link", textOf(path))),
          at,
        );
        expect({ route, kind, status, body }).toEqual({
          route,
          kind,
          status: 403,
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
    const session = await hubs.openSession();
    const path = await hubs.pathTo({ kind: "viewer", id: session.session_id });
    for (const piece of [1, 3, 1_000]) {
      const viewer = openSocketAt(hub, streamOf(path) + query, ["binary"]);
      expect(await viewer.opened).toBe(true);
      const { received } = await hubs.streamAt(session);
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
    const session = await hubs.openSession();
    const path = await hubs.pathTo({ kind: "viewer", id: session.session_id, mode: "take-over" });
    for (const [query, seen] of [
      ["", [HANDSHAKE, ACTS, UPDATE]],
      ["?view_only=1", [HANDSHAKE, UPDATE]],
    ] as const) {
      const viewer = openSocketAt(hub, streamOf(path) + query, ["binary"]);
      await viewer.opened;
      const { received } = await hubs.streamAt(session);
      viewer.socket.send(Buffer.concat([HANDSHAKE, ACTS, UPDATE]));
      const told = Buffer.concat([...seen]);
      while (Buffer.concat(received.all).length < told.length) await received.next();
      expect(Buffer.concat(received.all)).toEqual(told);
      viewer.socket.close();
    }
  });

  test("gets no CDP link: a browser that is steered cannot be kept to looking", async () => {
    const session = await hubs.openSession();
    const { status, body } = await hubs.make({ kind: "cdp", id: session.session_id, mode: "view" });
    expect(status).toBe(422);
    expect(JSON.stringify(body)).toContain("DevTools cannot be restricted to viewing");
  });
});
