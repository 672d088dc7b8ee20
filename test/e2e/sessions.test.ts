import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { SessionReply } from "#shared/protocol/link/messages.ts";
import type { Tab } from "#shared/protocol/schema/session.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import {
  browserProcess,
  laneWarm,
  type OpenSession,
  type SessionRig,
  startSessionRig,
} from "#test/support/rigs/session-rig.ts";
import type { SiteServer } from "#test/support/servers/site/server.ts";
import { startSessionSite } from "#test/support/servers/site/session-pages.ts";

let rig: SessionRig;
let site: SiteServer;
let session: OpenSession;
const at = (path: string) => `${site.origin}${path}`;
const go = (path: string) => session.get("navigate", { url: at(path) });
const evaluate = (code: string, arg?: unknown) => session.get("evaluate", { code, arg });

/** A call that must fail, as its kind and its error. */
const fail = async (action: string, args: Record<string, unknown>, timeout_ms?: number) => {
  const { ok, kind, error }: SessionReply = await session.call(action, args, timeout_ms);
  expect(ok).toBe(false);
  return { kind, ...error };
};

beforeAll(async () => {
  [rig, site] = await Promise.all([startSessionRig(), startSessionSite()]);
  session = await rig.open();
}, 180_000);
afterAll(async () => {
  await rig.close();
  await site.stop();
}, 180_000);

describe("evaluate (rules/session-actions#evaluate)", () => {
  test("expressions, functions and statements give their value", async () => {
    expect(await evaluate("1 + 1")).toBe(2);
    expect(await evaluate("(a) => a.n * 2", { n: 4 })).toBe(8);
    expect(await evaluate("async () => 5;")).toBe(5);
    expect(await evaluate("function (a) { return a + 1 }", 6)).toBe(7);
    expect(await evaluate("const a = await 3;\nreturn a + arg; // done", 1)).toBe(4);
    expect(await evaluate("({ a: [1, null] }) // a comment")).toEqual({ a: [1, null] });
    expect(await evaluate("undefined")).toBeNull();
    expect(await evaluate("Promise.resolve('later')")).toBe("later");
  });

  test("a script that throws is told with its name, message and stack; one that does not parse too", async () => {
    expect(await fail("evaluate", { code: "() => missing.x" })).toMatchObject({
      kind: "page",
      name: "ReferenceError",
      message: "missing is not defined",
      stack: expect.stringContaining("at "),
    });
    expect(await fail("evaluate", { code: "throw new TypeError('no way')" })).toMatchObject({
      kind: "page",
      name: "TypeError",
      message: "no way",
    });
    expect(await fail("evaluate", { code: "let let =" })).toMatchObject({
      kind: "page",
      name: "SyntaxError",
    });
  });

  test("what is not JSON is an error, and an endless promise is a timeout within the deadline", async () => {
    expect(await fail("evaluate", { code: "const a = {}; a.a = a; return a" })).toMatchObject({
      kind: "page",
      message: expect.stringContaining("JSON"),
    });
    expect(await fail("evaluate", { code: "10n" })).toMatchObject({ kind: "page" });
    const since = performance.now();
    expect(await fail("evaluate", { code: "new Promise(() => {})" }, 300)).toMatchObject({
      kind: "timeout",
      message: "evaluate did not end within 300 ms",
    });
    // Far from the minute that a call has otherwise.
    expect(performance.now() - since).toBeLessThan(30_000);
  });

  test("a page's security policy does not stop it", async () => {
    await go("/csp");
    expect(await evaluate("document.title")).toBe("Strict");
  });

  test("a result above 256 KiB comes as a blob of the same JSON", async () => {
    const reply = await session.call("evaluate", { code: "'x'.repeat(400_000)" });
    expect(reply).toMatchObject({ ok: true, result: null, blob: expect.any(String) });
  });
});

describe("navigation", () => {
  test("navigate, back, forward and reload tell the status and where the tab is", async () => {
    const first = await session.call("navigate", { url: at("/"), referer: "http://from.test/" });
    expect(first).toMatchObject({
      result: { status: 200 },
      place: { url: at("/"), title: "Home", tabs: 1, dialogs: [] },
    });
    expect(site.hits.findLast(({ path }) => path === "/")?.headers.referer).toBe(
      "http://from.test/",
    );
    await session.get("click", { selector: "text=to the second" });
    await session.get("wait", { load_state: "load" });
    expect((await session.call("back")).place?.title).toBe("Home");
    expect((await session.call("forward")).place?.title).toBe("Second");
    expect((await session.call("reload")).result).toEqual({ status: 200 });
    expect((await session.call("navigate", { url: at("/nothing") })).result).toEqual({
      status: 404,
    });
  });

  test("a URL that cannot be reached, is refused or does not answer says so", async () => {
    expect(await fail("navigate", { url: "http://127.0.0.1:1/" })).toMatchObject({
      kind: "page",
      message: expect.stringContaining("net::ERR_"),
    });
    expect(await fail("navigate", { url: "http://169.254.169.254/latest/" })).toMatchObject({
      kind: "page",
      message: expect.stringContaining("metadata"),
    });
    const cdp = `http://127.0.0.1:${rig.env.SVC_CDP_PORT_BASE}/json`;
    expect(await fail("navigate", { url: cdp })).toMatchObject({
      kind: "page",
      message: expect.stringContaining("own lanes"),
    });
    expect(await fail("navigate", { url: "file:///etc/passwd" })).toMatchObject({
      kind: "invalid",
    });
    expect(await fail("navigate", { url: at("/never") }, 400)).toMatchObject({ kind: "timeout" });
  });

  test("a tab that gets to a page outside the web by other means is sent to the blank page", async () => {
    await go("/");
    const { cdp_url } = browserProcess(rig);
    for (const url of ["file:///etc/passwd", "chrome://version/", `view-source:${at("/")}`]) {
      await rig.cdp(cdp_url, "Page.navigate", { url });
      await session.get("wait", { seconds: 0.05 });
      await until(`the blank page instead of ${url}`, 60_000, async () => {
        const { place } = await session.call("state");
        return place?.url === "about:blank";
      });
    }
  });
});

describe("tabs", () => {
  test("a popup is a tab that becomes the active one by `tab select` alone", async () => {
    await go("/popup");
    await session.get("click", { selector: "button" });
    const tabs = await until("the popup", 60_000, async () => {
      const listed = await session.get<Tab[]>("tabs");
      return listed[1]?.title === "Second" ? listed : null;
    });
    expect(tabs.map(({ title, active }) => [title, active])).toEqual([
      ["Opener", true],
      ["Second", false],
    ]);
    const selected = await session.call("tab", { op: "select", index: 1 });
    expect(selected.place).toEqual({ url: at("/second"), title: "Second", tabs: 2, dialogs: [] });
    expect(await evaluate("document.title")).toBe("Second");
    await session.get("tab", { op: "close" });
    expect(await evaluate("document.title")).toBe("Opener");
    expect(await fail("tab", { op: "select", index: 7 })).toMatchObject({ kind: "invalid" });
  });

  test("a click that waits for its popup has it as the active tab", async () => {
    await go("/popup");
    const clicked = { selector: "button", wait_for: "popup" };
    expect(await session.get<Tab>("click", clicked)).toEqual({
      index: 1,
      url: at("/second"),
      title: "Second",
      active: true,
    });
    expect(await evaluate("document.title")).toBe("Second");
    await session.get("tab", { op: "close" });
    expect(await fail("click", { selector: "h1, body", wait_for: "popup" }, 300)).toMatchObject({
      kind: "timeout",
    });
  });

  test("closing the last tab leaves a blank one", async () => {
    await session.get("tab", { op: "new", url: at("/second") });
    await session.get("tab", { op: "close", index: 0 });
    await session.get("tab", { op: "close", index: 0 });
    const { place } = await session.call("state");
    expect(place).toMatchObject({ url: "about:blank", tabs: 1 });
    expect(await evaluate("1")).toBe(1);
  });
});

describe("trouble", () => {
  test("an action during a navigation, and a tab closed under an action, end with an error", async () => {
    await go("/");
    const waiting = session.call("evaluate", { code: "new Promise(() => {})" });
    await go("/second");
    expect(await waiting).toMatchObject({ ok: false, kind: "page" });
    await session.get("tab", { op: "new" });
    const hanging = session.call("evaluate", { code: "new Promise(() => {})" });
    await session.get("tab", { op: "close" });
    expect(await hanging).toMatchObject({ ok: false, kind: "page" });
  });

  test("a busy page times out, its place is known all the same, and it can be left", async () => {
    await go("/second");
    expect(await fail("evaluate", { code: "for (;;);" }, 400)).toMatchObject({ kind: "timeout" });
    expect((await session.call("state")).place?.title).toBe("Second");
    await session.get("tab", { op: "new", url: at("/") });
    await session.get("tab", { op: "close", index: 0 });
    expect(await evaluate("document.title")).toBe("Home");
  });

  test("a page that crashed is an error, and a navigation or a new tab goes on", async () => {
    await go("/");
    const crashed = session.call("evaluate", { code: "new Promise(() => {})" });
    const { cdp_url } = browserProcess(rig);
    // It is not answered: what would answer is gone.
    rig.cdp(cdp_url, "Page.crash", {}).catch(() => {});
    expect(await crashed).toMatchObject({ ok: false, kind: "page" });
    await session.get("tab", { op: "new", url: at("/second") });
    expect(await evaluate("document.title")).toBe("Second");
  });

  test("a Chromium that is killed ends the session, and its lane is warm again", async () => {
    const warm = laneWarm(rig.peer, 0);
    process.kill(browserProcess(rig).pid, "SIGKILL");
    const { session_id, reason } = await rig.peer.next("SessionEnded");
    expect({ session_id, reason }).toEqual({
      session_id: session.session_id,
      reason: "the browser ended (SIGKILL)",
    });
    expect(await session.call("state")).toMatchObject({ ok: false, kind: "gone" });
    await warm;
  });
});

describe("opening and closing (rules/sessions#end-of-a-session)", () => {
  test("a session opens with its URL and viewport, and a closed one gives a warm lane back", async () => {
    const opened = await rig.open({ url: at("/second"), viewport: { width: 500, height: 400 } });
    expect(opened.url).toBe(at("/second"));
    expect(await opened.get("evaluate", { code: "[innerWidth, innerHeight]" })).toEqual([500, 400]);
    expect(await rig.open().catch(String)).toContain("lane: ");
    await opened.close();
    expect(await opened.call("state")).toMatchObject({ ok: false, kind: "gone" });
  }, 180_000);

  test("a page that cannot be opened refuses the session by name, and the lane comes back", async () => {
    const warm = laneWarm(rig.peer, 0);
    const refused = await rig.open({ url: "http://127.0.0.1:1/" }).catch(String);
    expect(refused).toMatch(/page: .*ERR_/);
    await warm;
  }, 180_000);
});
