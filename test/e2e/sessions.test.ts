import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { SessionReply } from "#shared/protocol/link/messages.ts";
import type { NetworkLog, Tab } from "#shared/protocol/schema/session.ts";
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
}, 60_000);
afterAll(async () => {
  await rig.close();
  await site.stop();
}, 60_000);

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
    // Far from the ten seconds that a call has otherwise.
    expect(performance.now() - since).toBeLessThan(5_000);
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
      const until = performance.now() + 3_000;
      let place = (await session.call("state")).place;
      while (place?.url !== "about:blank" && performance.now() < until)
        place = (await session.call("state")).place;
      expect(place?.url).toBe("about:blank");
    }
  });
});

describe("input", () => {
  test("click, fill, type, press, hover, select_option, check, uncheck and scroll do what they say", async () => {
    await go("/form");
    await session.get("click", { selector: "#go", click_count: 2 });
    expect(await evaluate("document.title")).toBe("clicked 20");
    await session.get("fill", { selector: "#name", text: "Ada" });
    await session.get("type", { selector: "#name", text: "!", delay_ms: 1 });
    await session.get("type", { text: "?" });
    expect(await evaluate("document.querySelector('#name').value")).toBe("Ada!?");
    await session.get("press", { key: "Control+a", selector: "#name" });
    await session.get("press", { key: "Delete" });
    expect(await evaluate("[document.querySelector('#name').value, last]")).toEqual(["", "Delete"]);
    await session.get("hover", { selector: "#hover" });
    expect(await evaluate("document.title")).toBe("hovered");
    expect(await session.get("select_option", { selector: "#pick", values: ["b"] })).toEqual(["b"]);
    await session.get("check", { selector: "#box" });
    expect(await evaluate("document.querySelector('#box').checked")).toBe(true);
    await session.get("uncheck", { selector: "#box" });
    expect(await evaluate("document.querySelector('#box').checked")).toBe(false);
    expect(await session.get<object>("scroll", { amount: 400 })).toEqual({ x: 0, y: 400 });
    expect((await session.get<{ y: number }>("scroll", { selector: "#end" })).y).toBeGreaterThan(
      1_000,
    );
    await session.get("scroll", { amount: -1e7 });
    const { x, y } = await session.get<{ x: number; y: number }>("evaluate", {
      code: "const r = document.querySelector('#go').getBoundingClientRect(); return { x: r.x + 3, y: r.y + 3 }",
    });
    await session.get("click", { x, y, button: "left" });
    expect(await evaluate("document.title")).toBe("clicked 10");
  });

  test("an element is dragged onto another, a point of an element is clicked, and the pointer is moved by hand", async () => {
    await go("/pointer");
    await session.get("drag_and_drop", { source: "#card", target: "#bin" });
    expect(await evaluate("document.title")).toBe("dropped card");
    await session.get("click", { selector: "#pad", position: { x: 40, y: 30 } });
    expect(await evaluate("document.title")).toBe("at 40 30");
    await session.get("mouse", { op: "move", x: 10, y: 200 });
    await evaluate("trail.length = 0");
    await session.get("mouse", { op: "down" });
    await session.get("mouse", { op: "move", x: 30, y: 240, steps: 2 });
    await session.get("mouse", { op: "up" });
    expect(await evaluate("trail")).toEqual([
      "mousedown 10 200",
      "mousemove 20 220",
      "mousemove 30 240",
      "mouseup 30 240",
    ]);
  });

  test("actions go into a frame, and into one within it", async () => {
    await go("/frames");
    const frame = ["#outer", "#inner"];
    await session.get("fill", { frame, selector: "#name", text: "inside" });
    await session.get("type", { frame, selector: "#name", text: "!" });
    expect(
      await session.get<string>("evaluate", {
        frame,
        code: "document.querySelector('#name').value",
      }),
    ).toBe("inside!");
    expect(await session.get<string>("text", { frame: "#outer", selector: "p" })).toBe("outer");
    expect(await session.get<string>("content", { frame: "#outer" })).toContain("<p>outer</p>");
    await session.get("wait", { frame, selector: "#pick" });
    expect(
      await session.get<string[]>("select_option", { frame, selector: "#pick", values: ["b"] }),
    ).toEqual(["b"]);
    const shot = await session.picture("screenshot", { frame, selector: "#go" });
    expect(shot.mime).toBe("image/png");
    expect(await fail("text", { frame: "#plain", selector: "p" })).toMatchObject({
      kind: "page",
      message: "#plain is not an iframe",
    });
    expect(await fail("click", { frame: "#none", selector: "p" }, 300)).toMatchObject({
      kind: "timeout",
    });
  });

  test("files are put into a file input, inline and from uploads, under their own names", async () => {
    await go("/form");
    const upload = rig.live(session.session_id).files.createUpload("up/../1");
    upload.write(Buffer.from("from an upload"));
    upload.end();
    await session.get("set_input_files", {
      selector: "#file",
      files: [
        { name: "inline.txt", content_base64: Buffer.from("inline").toString("base64") },
        { name: "../evil.txt", upload_id: "up/../1" },
      ],
    });
    expect(
      await evaluate(
        "Promise.all([...document.querySelector('#file').files].map(async (f) => [f.name, await f.text()]))",
      ),
    ).toEqual([
      ["inline.txt", "inline"],
      ["__evil.txt", "from an upload"],
    ]);
    expect(
      await fail("set_input_files", { selector: "#file", files: [{ name: "a", upload_id: "no" }] }),
    ).toMatchObject({ kind: "invalid" });
  });

  test("a selector that is not valid, not there in time, ambiguous or unknown key is an error of its kind", async () => {
    expect(await fail("click", { selector: "a[" })).toMatchObject({ kind: "page" });
    expect(await fail("click", { selector: "#no" }, 300)).toMatchObject({
      kind: "timeout",
      message: expect.stringContaining("#no"),
    });
    expect(await fail("fill", { selector: "input", text: "x" })).toMatchObject({
      kind: "page",
      message: expect.stringContaining("strict mode"),
    });
    expect(await fail("press", { key: "Nokey" })).toMatchObject({ kind: "page" });
    expect(await fail("click", { x: 1 })).toMatchObject({ kind: "invalid" });
    expect(await fail("fill", { selector: "#name" })).toMatchObject({
      kind: "invalid",
      message: expect.stringContaining("text"),
    });
    expect(await fail("dance", {})).toMatchObject({ kind: "invalid" });
  });
});

describe("reading", () => {
  test("content, text, markdown and links", async () => {
    await go("/article");
    expect(await session.get<string>("content")).toContain("<h1>Heading</h1>");
    expect(await session.get<string>("text", { selector: "h1" })).toBe("Heading");
    const markdown = await session.get<string>("markdown");
    expect(markdown).toContain("# Heading");
    expect(markdown).toContain(`Some **bold** [link](${at("/second")}).`);
    expect(markdown).toMatch(/\| a +\| b +\|/);
    expect(markdown).toContain("```js\nlet x = 1;\n```");
    expect(markdown).not.toContain("void 0");
    expect(await session.get<unknown>("links")).toEqual([{ href: at("/second"), text: "link" }]);
    expect(await fail("text", { selector: "#no" })).toMatchObject({ kind: "page" });
    expect(await fail("markdown", { selector: "#no" })).toMatchObject({ kind: "page" });
  });

  test("screenshots in each format, of the page, an element and the whole page; a PDF", async () => {
    await go("/form");
    const magic = { png: "iVBOR", jpeg: "/9j/", webp: "UklG" } as const;
    for (const [format, start] of Object.entries(magic)) {
      const shot = await session.picture("screenshot", { format, quality: 40, selector: "#go" });
      expect(shot.mime).toBe(`image/${format}`);
      expect(shot.content_base64.startsWith(start)).toBe(true);
    }
    const whole = await session.picture("screenshot", { format: "jpeg", full_page: true });
    const view = await session.picture("screenshot", { format: "jpeg" });
    expect(whole.content_base64.length).not.toBe(view.content_base64.length);
    const pdf = await session.picture("pdf", {});
    expect(Buffer.from(pdf.content_base64, "base64").toString("latin1", 0, 5)).toBe("%PDF-");
    expect(await fail("pdf", { format: "B99" })).toMatchObject({ kind: "invalid" });
    expect(await fail("screenshot", { selector: "#no" })).toMatchObject({ kind: "page" });
  });

  test("a preview is a small JPEG, also while the page hangs or is not connected", async () => {
    const { mime, content_base64 } = await session.picture("preview", {});
    expect(mime).toBe("image/jpeg");
    expect(content_base64.startsWith("/9j/")).toBe(true);
    expect(content_base64.length).toBeLessThan(100_000);
  });
});

describe("cookies, network and downloads", () => {
  test("cookies are read, put and cleared", async () => {
    await go("/cookie");
    const list = () => session.get<{ cookies: { name: string; value: string }[] }>("cookies_get");
    expect((await list()).cookies).toMatchObject([{ name: "seen", value: "yes" }]);
    await session.get("cookies_put", { cookies: [{ name: "a", value: "b", url: at("/") }] });
    await session.get("cookies_put", { cookies: [{ name: "c", value: "d", domain: "x.test" }] });
    expect((await list()).cookies.map(({ name }) => name).sort()).toEqual(["a", "c", "seen"]);
    expect(await fail("cookies_put", { cookies: [{ name: "a", value: "b" }] })).toMatchObject({
      kind: "invalid",
    });
    await session.get("cookies_clear");
    expect((await list()).cookies).toEqual([]);
  });

  test("the network log tells what was asked for, and goes on from `next`", async () => {
    const { next } = await session.get<NetworkLog>("network", { since: 0 });
    await go("/second");
    await session.call("navigate", { url: "http://127.0.0.1:1/" });
    const log = await session.get<NetworkLog>("network", { since: next });
    expect(log.entries.find(({ url }) => url === at("/second"))).toMatchObject({
      method: "GET",
      type: "Document",
      status: 200,
      mime: "text/html",
      error: null,
      ttfb_ms: expect.any(Number),
      ms: expect.any(Number),
      size: expect.any(Number),
    });
    expect(log.entries.find(({ url }) => url === "http://127.0.0.1:1/")?.error).toMatch(/ERR_/);
    expect(log.entries.every(({ seq }) => seq > next)).toBe(true);
  });

  test("a download goes to the run's own directory under a safe name and is listed", async () => {
    await go("/");
    await session.call("navigate", { url: at("/report.txt") }, 3_000);
    const listed = () => session.get<{ files: { name: string; state: string }[] }>("files");
    const until = performance.now() + 5_000;
    let { files } = await listed();
    while (files[0]?.state !== "completed" && performance.now() < until)
      ({ files } = await listed());
    expect(files).toMatchObject([
      { state: "completed", size: 8, mime: "text/plain", url: at("/report.txt") },
    ]);
    const name = files[0]?.name ?? "";
    expect(name).not.toContain("/");
    const file = rig.live(session.session_id).files.openDownload(name);
    expect(readFileSync(file?.path ?? "", "utf8")).toBe("a report");
    expect(file?.path.startsWith(join(rig.data_dir, "lanes"))).toBe(true);
    expect(rig.live(session.session_id).files.openDownload("../x")).toBeNull();
  });

  test("a click waits for its download, whose content is read; a file that never comes is a timeout", async () => {
    await go("/pointer");
    const before = await session.get<{ name: string }[]>("downloads");
    const clicked = { selector: "#file", wait_for: "download" };
    const file = await session.get<{ name: string }>("click", clicked);
    expect(file).toMatchObject({ state: "completed", size: 8, url: at("/report.txt") });
    expect(before.map(({ name }) => name)).not.toContain(file.name);
    const content = Buffer.from("a report").toString("base64");
    for (const args of [{ name: file.name }, {}])
      expect(await session.get<object>("read_download", args)).toEqual({
        name: file.name,
        mime: "text/plain",
        size: 8,
        content_base64: content,
      });
    expect(await fail("read_download", { name: "no" })).toMatchObject({ kind: "page" });
    expect(await fail("click", { selector: "#pad", wait_for: "download" }, 500)).toMatchObject({
      kind: "timeout",
    });
  });
});

describe("tabs", () => {
  test("a popup is a tab that becomes the active one by `tab select` alone", async () => {
    await go("/popup");
    await session.get("click", { selector: "button" });
    const until = performance.now() + 5_000;
    let tabs = await session.get<Tab[]>("tabs");
    while (tabs[1]?.title !== "Second" && performance.now() < until)
      tabs = await session.get<Tab[]>("tabs");
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
    const waiting = session.call("evaluate", { code: "new Promise(() => {})" }, 5_000);
    await go("/second");
    expect(await waiting).toMatchObject({ ok: false, kind: "page" });
    await session.get("tab", { op: "new" });
    const hanging = session.call("evaluate", { code: "new Promise(() => {})" }, 5_000);
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
    const crashed = session.call("evaluate", { code: "new Promise(() => {})" }, 5_000);
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
  }, 30_000);

  test("a page that cannot be opened refuses the session by name, and the lane comes back", async () => {
    const warm = laneWarm(rig.peer, 0);
    const refused = await rig.open({ url: "http://127.0.0.1:1/" }).catch(String);
    expect(refused).toMatch(/page: .*ERR_/);
    await warm;
  }, 30_000);
});
