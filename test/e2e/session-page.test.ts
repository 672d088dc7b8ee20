import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { SessionReply } from "#shared/protocol/link/messages.ts";
import type { NetworkLog } from "#shared/protocol/schema/session.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import {
  type OpenSession,
  type SessionRig,
  startSessionRig,
} from "#test/support/rigs/session-rig.ts";
import type { SiteServer } from "#test/support/servers/site/server.ts";
import { startSessionSite } from "#test/support/servers/site/session-pages.ts";

/** What a session does in its page: input, what it reads, cookies, its network log and downloads. */

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
    await session.call("navigate", { url: at("/report.txt") });
    const files = await until("the download", 60_000, async () => {
      const told = await session.get<{ files: { name: string; state: string }[] }>("files");
      return told.files[0]?.state === "completed" ? told.files : null;
    });
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
