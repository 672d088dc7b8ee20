import { afterAll, beforeAll, expect, test } from "bun:test";
import { SELF_CHECK } from "#hub/fleet/updates/self-check.ts";
import type { Session } from "#shared/protocol/schema/session.ts";
import { type FleetProcesses, startFleet, until } from "#test/support/rigs/fleet-process.ts";

/** A session from opening to its end, over HTTP alone, in a real Chromium (rules/sessions#open-a-session). */

const PAGE = `<!doctype html><title>Form</title>
<form onsubmit="event.preventDefault(); document.title = document.querySelector('#name').value">
<input id=name><button id=send>Send</button></form>
<input type=file id=file onchange="this.files[0].arrayBuffer().then(async (b) => {
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', b));
  document.title = this.files[0].name + ' ' + b.byteLength + ' ' + hash.toHex();
})">
<a id=file-out href=/report.csv download>report</a>`;

let fleet: FleetProcesses;
let site: ReturnType<typeof Bun.serve>;
let sid = "";

beforeAll(async () => {
  site = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) => {
      const { pathname } = new URL(request.url);
      if (pathname === "/report.csv")
        return new Response("a,b\n1,2\n", { headers: { "content-type": "text/csv" } });
      const seen = request.headers.get("cookie") ?? "";
      return new Response(pathname === "/cookies" ? seen : PAGE, {
        headers: { "content-type": "text/html", "set-cookie": "from_site=1; Path=/" },
      });
    },
  });
  fleet = await startFleet({ lanes: 1, headless: true, env: { SVC_DRAIN_TIMEOUT_S: "1" } });
  await fleet.lanesWarm(60_000);
  const opened = await call("POST", "/sessions", { url: site.url.href, headless: true });
  expect({ status: opened.status, text: opened.text }).toMatchObject({ status: 201 });
  sid = (opened.body as Session).session_id;
}, 180_000);

afterAll(async () => {
  expect(await fleet?.stop()).toEqual([]);
  await site?.stop(true);
}, 180_000);

interface Answer {
  status: number;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: answers of every shape
  body: any;
  headers: Headers;
}

async function call(method: string, path: string, body?: unknown, init?: RequestInit) {
  const answer = await fetch(fleet.url + path, {
    method,
    signal: AbortSignal.timeout(90_000),
    ...(body === undefined
      ? {}
      : { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
    ...init,
  });
  const text = await answer.text();
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    parsed = undefined;
  }
  return { status: answer.status, text, body: parsed, headers: answer.headers } as Answer;
}
const act = (action: string, args: object = {}, init?: RequestInit) =>
  call("POST", `/sessions/${sid}/${action}`, args, init);
/** The result of an action that must succeed. */
const get = async (action: string, args?: object) => {
  const { status, text, body } = await act(action, args);
  expect({ action, status, text }).toMatchObject({ status: 200 });
  return body.result;
};

test("the session opens on its page; state tells where it is", async () => {
  expect((await call("GET", `/sessions/${sid}/state`)).body).toMatchObject({
    session_id: sid,
    state: "active",
    url: site.url.href,
    title: "Form",
    tabs: 1,
  });
});

test("fill, click, press, evaluate and navigate drive the page", async () => {
  await get("fill", { selector: "#name", text: "Ada" });
  const clicked = await act("click", { selector: "#send" });
  expect(clicked.body).toMatchObject({ ok: true, url: site.url.href });
  expect(await get("evaluate", { code: "document.title" })).toBe("Ada");
  expect(await get("evaluate", { code: "(n) => n * 2", arg: 21 })).toBe(42);
  await get("fill", { selector: "#name", text: "Eve" });
  await get("press", { key: "Enter", selector: "#name" });
  expect(await get("evaluate", { code: "document.title" })).toBe("Eve");
  await get("navigate", { url: `${site.url.href}?2` });
  expect((await act("evaluate", { code: "1" })).body.url).toBe(`${site.url.href}?2`);
  await get("back");
  expect((await act("evaluate", { code: "1" })).body.url).toBe(site.url.href);
});

test("what the page refuses is 422 with the error, what takes too long 504", async () => {
  const thrown = await act("evaluate", { code: "throw new TypeError('no')" });
  expect(thrown).toMatchObject({
    status: 422,
    body: { detail: expect.stringContaining("no"), error: { message: expect.any(String) } },
  });
  const late = await act("evaluate", { code: "new Promise(() => {})", timeout_s: 0.3 });
  expect(late.status).toBe(504);
  expect((await act("navigate", { url: "http://127.0.0.1:1/" })).status).toBe(422);
  await get("navigate", { url: site.url.href });
});

test("a result larger than the link carries comes whole", async () => {
  const text = await get("evaluate", { code: "'é'.repeat(1_000_000)" });
  expect(text).toBe("é".repeat(1_000_000));
});

test("screenshot and preview are pictures", async () => {
  const png = await fetch(`${fleet.url}/sessions/${sid}/screenshot`, {
    method: "POST",
    headers: { accept: "image/png" },
  });
  expect(png.headers.get("content-type")).toBe("image/png");
  const bytes = new Uint8Array(await png.arrayBuffer());
  expect([...bytes.slice(1, 4)].map((b) => String.fromCharCode(b)).join("")).toBe("PNG");
  const jpeg = await fetch(`${fleet.url}/sessions/${sid}/preview.jpg`);
  expect(jpeg.status).toBe(200);
  expect(jpeg.headers.get("content-type")).toBe("image/jpeg");
  const picture = new Uint8Array(await jpeg.arrayBuffer());
  expect([...picture.slice(0, 2)]).toEqual([0xff, 0xd8]);
});

test("cookies are read with their values, put and deleted", async () => {
  const path = `/sessions/${sid}/cookies`;
  expect((await call("GET", path)).body.cookies).toContainEqual(
    expect.objectContaining({ name: "from_site", value: "1" }),
  );
  await call("PUT", path, { cookies: [{ name: "mine", value: "2", url: site.url.href }] });
  await get("navigate", { url: `${site.url.href}cookies` });
  expect(await get("text")).toContain("mine=2");
  expect((await call("DELETE", path)).status).toBe(204);
  expect((await call("GET", path)).body.cookies).toEqual([]);
  await get("navigate", { url: site.url.href });
});

test("the network log tells the requests, and `since` only the new ones", async () => {
  const path = `/sessions/${sid}/network`;
  const { entries, next } = (await call("GET", path)).body;
  expect(entries).toContainEqual(
    expect.objectContaining({ method: "GET", url: `${site.url.href}cookies`, status: 200 }),
  );
  await get("navigate", { url: `${site.url.href}?new` });
  const later = (await call("GET", `${path}?since=${next}`)).body.entries;
  expect(later.map((e: { url: string }) => e.url)).toContain(`${site.url.href}?new`);
  expect(later.map((e: { url: string }) => e.url)).not.toContain(`${site.url.href}cookies`);
});

test("a file goes in as JSON and, 50 MB of it, as a form", async () => {
  const small = Buffer.from("hello").toString("base64");
  await get("set_input_files", {
    selector: "#file",
    files: [{ name: "a.txt", mime: "text/plain", content_base64: small }],
  });
  const titled = (start: string) =>
    until("the page to read its file", 60_000, async () => {
      const title: string = await get("evaluate", { code: "document.title" });
      return title.startsWith(start) ? title : null;
    });
  await titled("a.txt 5 ");
  const big = new Uint8Array(50_000_000).map((_, i) => i % 251);
  const form = new FormData();
  form.append("selector", "#file");
  form.append("files", new File([big], "big.bin"));
  const answer = await fetch(`${fleet.url}/sessions/${sid}/set_input_files`, {
    method: "POST",
    body: form,
  });
  expect({ status: answer.status, text: await answer.text() }).toMatchObject({ status: 200 });
  expect(await titled("big.bin 50000000 ")).toEndWith(
    new Bun.CryptoHasher("sha256").update(big).digest("hex"),
  );
}, 180_000);

test("a download becomes a file of the session", async () => {
  await get("click", { selector: "#file-out" });
  const file = await until("the download", 60_000, async () => {
    const { files } = (await call("GET", `/sessions/${sid}/files`)).body;
    return files.find((f: { state: string }) => f.state === "completed");
  });
  expect(file).toMatchObject({
    name: "report.csv",
    size: 8,
    href: `/sessions/${sid}/files/report.csv`,
  });
  const body = await call("GET", file.href);
  expect(body.text).toBe("a,b\n1,2\n");
  expect(body.headers.get("content-disposition")).toStartWith("attachment");
});

test("what a hub has the page of an updated worker run gives what it looks for (rules/updates#canary)", async () => {
  expect(await get("evaluate", { code: SELF_CHECK.code })).toBe(SELF_CHECK.text);
});

test("DELETE ends it forever and gives the lane back", async () => {
  expect((await call("DELETE", `/sessions/${sid}`)).status).toBe(204);
  for (const path of ["state", "cookies", "files", "files/report.csv", "preview.jpg", "novnc/"])
    expect((await call("GET", `/sessions/${sid}/${path}`)).status).toBe(404);
  expect((await act("click", { selector: "a" })).status).toBe(404);
  await fleet.lanesWarm();
});

test("keep_session: the job's page stays open for a person, and the next job runs in it with its cookies (rules/jobs#keep-the-session)", async () => {
  const first = await fleet.submit(site.url.href, { keep_session: true, idle_seconds: 0.2 });
  const ended = await fleet.finished(first.job_id);
  expect({ status: ended.status, error: ended.error }).toEqual({
    status: "completed",
    error: null,
  });
  sid = ended.session_id ?? "";
  expect((await call("GET", `/sessions/${sid}/state`)).body).toMatchObject({
    job_id: first.job_id,
    idle_ttl_s: 60,
  });
  await get("evaluate", { code: "document.cookie = 'by_hand=1; Path=/'" });
  const second = await fleet.submit(`${site.url.href}cookies`, {
    attach_to_job: first.job_id,
    idle_seconds: 0.2,
  });
  expect(second).toMatchObject({ session_id: sid, lane_idx: first.lane_idx });
  const attached = await fleet.finished(second.job_id);
  expect({ status: attached.status, error: attached.error }).toEqual({
    status: "completed",
    error: null,
  });
  expect((await call("GET", `/jobs/${second.job_id}/page.html`)).text).toContain("by_hand=1");
  expect(await get("evaluate", { code: "document.cookie" })).toContain("by_hand=1");
  expect((await call("DELETE", `/sessions/${sid}`)).status).toBe(204);
  await fleet.lanesWarm();
}, 180_000);
