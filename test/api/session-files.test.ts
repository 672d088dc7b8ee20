import { afterEach, beforeEach, expect, test } from "bun:test";
import { formFor } from "#hub/ui/client/fleet/session/stage/drop-files.ts";
import { type FakeBridge, startFakeBridge } from "#test/support/fakes/fake-bridge.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import type { FakeWorkerOptions } from "#test/support/fakes/fake-worker.ts";
import { TARGET, type TestHub } from "#test/support/rigs/hub.ts";
import type { TestHubOptions } from "#test/support/rigs/hub-options.ts";
import { openSessionOf, startSessionHub } from "#test/support/rigs/session-hub.ts";

/** What a session gives and takes in bytes: images, files, cookies, its network log and downloads. */

let hub: TestHub;
let bridge: FakeBridge;
beforeEach(() => {
  bridge = startFakeBridge();
});
afterEach(async () => {
  await hub?.close();
  await bridge.stop();
});

const start = async (options?: FakeWorkerOptions, of_hub?: TestHubOptions) => {
  const started = await startSessionHub(bridge, options, of_hub);
  ({ hub } = started);
  return started.worker;
};
const open = (body?: object) => openSessionOf(hub, body);
const act = (sid: string, action: string, body?: unknown, init?: RequestInit) =>
  hub.call("POST", `/sessions/${sid}/${action}`, body, init);

test("screenshot and pdf answer raw bytes when Accept asks for them", async () => {
  const content_base64 = Buffer.from("picture").toString("base64");
  await start({
    on_call: ({ action }) => ({
      result: { mime: action === "pdf" ? "application/pdf" : "image/png", content_base64 },
    }),
  });
  const { session_id: sid } = await open();
  for (const [action, accept] of [
    ["screenshot", "image/*"],
    ["pdf", "application/pdf"],
  ] as const) {
    const answer = await act(sid, action, {}, { headers: { accept } });
    expect(answer).toMatchObject({ status: 200, text: "picture" });
    expect(answer.headers.get("content-type")).toStartWith(accept.replace("*", "png"));
    const plain = await act(sid, action, {}, { headers: { accept: "application/json" } });
    expect(plain.body.result.content_base64).toBe(content_base64);
  }
});

test("a result too large for the link is read from the worker's bridge, with its token", async () => {
  const worker = await start({ on_call: () => ({ blob: "b1" }) });
  const big = { text: "é".repeat(600_000) };
  bridge.blobs.set("b1", JSON.stringify(big));
  const { session_id: sid } = await open();
  const answer = await act(sid, "content");
  expect(answer.body).toMatchObject({ ok: true, title: "Title" });
  expect(answer.body.result).toEqual(big);
  const { upload_token } = await worker.registered;
  expect(bridge.requests).toEqual([
    { method: "GET", path: `/sessions/${sid}/blobs/b1`, bearer: `Bearer ${upload_token}` },
  ]);
  await bridge.stop();
  expect((await act(sid, "content")).status).toBe(502);
});

test("set_input_files as multipart: files go to the worker as they come, the call names them", async () => {
  const worker = await start();
  const { session_id: sid } = await open();
  const big = new Uint8Array(20_000_000).fill(7);
  const form = new FormData();
  form.append("files", new File(["hello"], "a.txt", { type: "text/plain" }));
  form.append("files", new File([big], "../b ä.bin"));
  form.append("selector", "#file");
  form.append("timeout_s", "12");
  const answer = await fetch(`${hub.url}/sessions/${sid}/set_input_files`, {
    method: "POST",
    body: form,
  });
  expect({ status: answer.status, body: await answer.text() }).toMatchObject({ status: 200 });
  const call = await worker.calls.next();
  expect(call).toMatchObject({ action: "set_input_files", timeout_ms: 12_000 });
  const files = call.args.files as { name: string; mime: string; upload_id: string }[];
  expect(files.map(({ name, mime }) => ({ name, mime }))).toEqual([
    { name: "a.txt", mime: "text/plain" },
    { name: "b ä.bin", mime: "application/octet-stream" },
  ]);
  expect(bridge.uploads.get(files[0]?.upload_id ?? "")?.size).toBe(5);
  expect(bridge.uploads.get(files[1]?.upload_id ?? "")?.sha256).toBe(
    new Bun.CryptoHasher("sha256").update(big).digest("hex"),
  );
});

test("a page is given the files of a form in their order, whichever is confirmed first (rules/session-actions#the-actions)", async () => {
  const worker = await start();
  const { session_id: sid } = await open();
  const second = Promise.withResolvers<void>();
  bridge.confirms = async ({ size }) => {
    if (size === 2) second.resolve();
    else await second.promise;
  };
  const form = new FormData();
  form.append("selector", "#file");
  form.append("files", new File(["1"], "first.txt"));
  form.append("files", new File(["22"], "second.txt"));
  const answer = await fetch(`${hub.url}/sessions/${sid}/set_input_files`, {
    method: "POST",
    body: form,
  });
  expect(answer.status).toBe(200);
  const { files } = (await worker.calls.next()).args as { files: { name: string }[] };
  expect(files.map(({ name }) => name)).toEqual(["first.txt", "second.txt"]);
});

test("a form names the frames of its field from outside in, as the web app writes it", async () => {
  const worker = await start();
  const { session_id: sid } = await open();
  const framesOf = async (frame: string[]) => {
    const selectors = [{ by: "css" as const, selector: "#file", matches: 1, boxes: [] }];
    const body = formFor({ selectors, frame }, [new File(["x"], "a.txt")]);
    const answer = await fetch(`${hub.url}/sessions/${sid}/set_input_files`, {
      method: "POST",
      body,
    });
    expect(answer.status).toBe(200);
    const { args } = await worker.calls.next();
    return { selector: args.selector, frame: args.frame };
  };
  expect(await framesOf(["#outer", "#inner"])).toEqual({
    selector: "#file",
    frame: ["#outer", "#inner"],
  });
  expect(await framesOf(["#outer"])).toEqual({ selector: "#file", frame: "#outer" });
  expect(await framesOf([])).toEqual({ selector: "#file", frame: undefined });
});

test("set_input_files beyond 100 MB is 413, announced or not, and leaves nothing on the worker", async () => {
  const worker = await start();
  const { session_id: sid } = await open();
  const url = `${hub.url}/sessions/${sid}/set_input_files`;
  const headers = { "content-type": "multipart/form-data; boundary=x" };
  const part = (name: string) =>
    `--x\r\nContent-Disposition: form-data; name="files"; filename="${name}"\r\n\r\n`;
  let sent = 0;
  const endless = new ReadableStream({
    start: (c) => c.enqueue(Buffer.from(`${part("small")}abc\r\n${part("big")}`)),
    pull: (c) => {
      sent += 1_048_576;
      c.enqueue(new Uint8Array(1_048_576));
    },
  });
  const grown = await fetch(url, { method: "POST", headers, body: endless });
  expect(grown.status).toBe(413);
  // Sockets, and a router, hold some of it.
  expect(sent).toBeLessThan(200 * 1_048_576);
  expect(bridge.uploads.size).toBe(0);
  expect(worker.calls.all.length).toBe(0);
}, 180_000);

test("a form that is none, has too many files, or whose call fails leaves nothing on the worker", async () => {
  await start({
    on_call: () => ({ ok: false, kind: "page", error: { name: "Error", message: "no element" } }),
  });
  const { session_id: sid } = await open();
  const send = (body: string | FormData, headers: Record<string, string> = {}) =>
    fetch(`${hub.url}/sessions/${sid}/set_input_files`, { method: "POST", body, headers });
  const form = new FormData();
  form.append("files", new File(["x"], "a"));
  expect((await send(form)).status).toBe(400); // no selector
  form.append("selector", "#file");
  expect((await send(form)).status).toBe(422);
  form.append("timeout_s", "soon");
  expect((await send(form)).status).toBe(422);
  const many = new FormData();
  for (let i = 0; i < 101; i += 1) many.append("files", new File(["x"], `f${i}`));
  expect((await send(many)).status).toBe(422);
  const multipart = { "content-type": "multipart/form-data; boundary=x" };
  expect((await send("nonsense", multipart)).status).toBe(400);
  expect((await send("x", { "content-type": "multipart/form-data" })).status).toBe(400);
  expect((await send(form, { "idempotency-key": "k" })).status).toBe(422);
  expect(bridge.uploads.size).toBe(0);
});

test("cookies: read with their values, put, deleted (rules/sessions#cookies-of-a-session)", async () => {
  const cookies = [{ name: "a", value: "1", domain: "site.test", path: "/", expires: -1 }];
  const worker = await start({
    on_call: ({ action }) => (action === "cookies_get" ? { result: { cookies } } : {}),
  });
  const { session_id: sid } = await open();
  const path = `/sessions/${sid}/cookies`;
  expect(await hub.call("GET", path)).toMatchObject({ status: 200, body: { cookies } });
  const put = await hub.call("PUT", path, { cookies: [{ name: "b", value: "2", url: TARGET }] });
  expect(put).toMatchObject({ status: 200, body: { cookies } });
  expect((await hub.call("PUT", path, { cookies: [{ name: "b" }] })).status).toBe(400);
  expect((await hub.call("DELETE", path)).status).toBe(204);
  expect(worker.calls.all.map((c) => c.action)).toEqual([
    "cookies_get",
    "cookies_put",
    "cookies_get",
    "cookies_clear",
  ]);
});

test("network: entries after `since` (rules/sessions#network-log)", async () => {
  const log = { entries: [], next: 7, dropped: 0 };
  const worker = await start({ on_call: () => ({ result: log }) });
  const { session_id: sid } = await open();
  expect((await hub.call("GET", `/sessions/${sid}/network?since=6`)).body).toEqual(log);
  expect((await worker.calls.next()).args).toEqual({ since: 6 });
  expect((await hub.call("GET", `/sessions/${sid}/network?since=-1`)).status).toBe(422);
});

test("listing downloads is not activity, so that an open page holds no lane (rules/sessions#activity)", async () => {
  const clock = createFakeClock();
  await start({ on_call: () => ({ result: { files: [] } }) }, { clock, alone: true });
  const { session_id: sid } = await open();
  const untilIdle = async () => (await hub.call("GET", `/sessions/${sid}`)).body.last_active_at;
  const before = await untilIdle();
  await clock.advance(10_000);
  expect((await hub.call("GET", `/sessions/${sid}/files`)).status).toBe(200);
  expect(await untilIdle()).toBe(before);
});

test("downloads: listed with their hrefs, read through the bridge as attachments that run nothing", async () => {
  const file = {
    name: "a b.html",
    size: 5,
    mime: "text/html",
    url: TARGET,
    state: "completed",
    created_at: Date.UTC(2026, 0, 1),
  };
  await start({ on_call: () => ({ result: { files: [file] } }) });
  bridge.files.set("a b.html", { body: "<b>x</b>", mime: "text/html" });
  const { session_id: sid } = await open();
  const href = `/sessions/${sid}/files/a%20b.html`;
  expect((await hub.call("GET", `/sessions/${sid}/files`)).body).toEqual({
    files: [{ ...file, href, created_at: "2026-01-01T00:00:00.000Z" }],
  });
  const { status, text, headers } = await hub.call("GET", href);
  expect({ status, text }).toEqual({ status: 200, text: "<b>x</b>" });
  expect(headers.get("content-disposition")).toStartWith('attachment; filename="a b.html"');
  expect(headers.get("content-security-policy")).toBe("sandbox");
  expect(headers.get("x-content-type-options")).toBe("nosniff");
  for (const name of ["none", "..%2f..%2fetc%2fpasswd", "%2e%2e"])
    expect((await hub.call("GET", `/sessions/${sid}/files/${name}`)).status).toBe(404);
});

test("preview.jpg: one call however many ask, kept for preview_interval_s, never cached outside", async () => {
  const jpeg = { mime: "image/jpeg", content_base64: Buffer.from("jpg").toString("base64") };
  const clock = createFakeClock();
  // Alone: several hubs would tell each other of their lanes by this clock, which stands still.
  const worker = await start({ on_call: () => ({ result: jpeg }) }, { clock, alone: true });
  const { session_id: sid } = await open();
  const keepFor = async (seconds: number) => {
    await hub.ctx.db.settings.set("preview_interval_s", seconds, 0);
    hub.ctx.settings_cache.delete("preview_interval_s");
  };
  await keepFor(3_600);
  const ask = () => hub.call("GET", `/sessions/${sid}/preview.jpg`);
  const answers = await Promise.all([ask(), ask(), ask()]);
  for (const { status, text, headers } of answers) {
    expect({ status, text }).toEqual({ status: 200, text: "jpg" });
    expect(headers.get("content-type")).toBe("image/jpeg");
    expect(headers.get("cache-control")).toBe("no-store");
  }
  const DAY_MS = 86_400_000;
  for (const by_ms of [-DAY_MS, 2 * DAY_MS]) {
    clock.jump(by_ms);
    expect(await ask()).toMatchObject({ status: 200, text: "jpg" });
    expect(worker.calls.all.length).toBe(1);
  }
  clock.jump(-3 * DAY_MS);
  await keepFor(0.01);
  await clock.advance(10);
  expect(await ask()).toMatchObject({ status: 200, text: "jpg" });
  expect(worker.calls.all.length).toBe(2);
});

test("preview.jpg: another hub's picture from a time that is yet to come is not shown", async () => {
  const jpeg = { mime: "image/jpeg", content_base64: Buffer.from("new").toString("base64") };
  const clock = createFakeClock();
  await start({ on_call: () => ({ result: jpeg }) }, { clock, alone: true });
  const { session_id: sid } = await open();
  const keep = (taken_at: number) =>
    hub.ctx.kv.set(
      `preview:${sid}`,
      {
        taken: { by: "another hub", at: 0 },
        taken_at,
        jpeg_base64: Buffer.from("old").toString("base64"),
      },
      60_000,
    );
  const ask = () => hub.call("GET", `/sessions/${sid}/preview.jpg`);
  await keep(clock.now());
  expect(await ask()).toMatchObject({ status: 200, text: "old" });
  await keep(clock.now() + 1_000);
  expect(await ask()).toMatchObject({ status: 200, text: "new" });
});
