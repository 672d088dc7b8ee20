import { expect, test } from "bun:test";
import { silentLog } from "#shared/kit/log.ts";
import { framesOf, jsonOf } from "#shared/recording/frames.ts";
import { createMask } from "#shared/recording/masks.ts";
import { MAX_REQUEST_BYTES, MOST_REQUESTS, RequestNote } from "#shared/recording/requests.ts";
import { Har } from "#test/support/clients/har.ts";
import { fakeNetwork } from "#test/support/fakes/fake-network.ts";
import { CdpSession, type Protocol } from "#worker/browser/cdp/connection.ts";
import { createRequestNotes } from "#worker/browser/recording/request-notes.ts";

/** What a session's recording notes of its requests (rules/recordings#requests). */

type Noted = Extract<RequestNote, { n: number }>;

function newSession(target_id: string, parent: CdpSession | null = null) {
  const target = { targetId: target_id, type: parent ? "iframe" : "page", url: "about:blank" };
  return new CdpSession(undefined as never, "s", target as Protocol.Target.TargetInfo, parent);
}

function startNotes(secrets: string[] = [], brief = false) {
  let ms = 0;
  let over = false;
  const frames: Uint8Array[] = [];
  const said: string[] = [];
  const mask = createMask(secrets);
  const notes = createRequestNotes({
    ms: () => ms,
    write: (frame) => frames.push(frame),
    isOver: () => over,
    note: (text) => said.push(text),
    mask,
    brief,
    bodies: null,
    log: silentLog,
  });
  const browser = { connection: {} as never, product: "Chrome/156.0", facts: null };
  const listenTo = (hear: (session: CdpSession) => void, session = newSession("tab-1")) => {
    hear(session);
    return fakeNetwork(session);
  };
  const listen = (of = browser, session = newSession("tab-1")) =>
    listenTo(notes.follow(of), session);
  return {
    notes,
    frames,
    said,
    mask,
    listen,
    listenTo,
    browser,
    at: (now: number) => {
      ms = now;
    },
    end: () => {
      over = true;
    },
    /** All that was written since the last call. */
    written: () =>
      frames
        .splice(0)
        .flatMap((frame) => [...framesOf(frame)])
        .map((frame) => RequestNote.parse(jsonOf(frame))),
  };
}
const requestsOf = (written: RequestNote[]) => written.filter((note): note is Noted => "n" in note);
/** As har.json has them. */
const harOf = (written: RequestNote[]) =>
  Har.parse({
    log: {
      version: "1.2",
      creator: { name: "x", version: "1" },
      browser: { name: "x", version: "1" },
      pages: [],
      entries: requestsOf(written).map(({ har }) => har),
    },
  }).log.entries;

test("a request is noted when it ends; one that goes on, as far as it is known by then", () => {
  const { notes, listen, written, at } = startNotes();
  const { send, respond, finish, emit } = listen();
  at(40);
  send("short", { frameId: "frame-1" });
  send("long");
  respond("short");
  finish("short");
  at(1_000);
  notes.look();
  respond("long");
  notes.look();
  notes.look();
  emit("loadingFailed", { requestId: "long", timestamp: 3, errorText: "net::ERR_ABORTED" });
  const all = written();
  expect(all[0]).toEqual({ browser: "Chrome/156.0" });
  expect(
    requestsOf(all).map(({ n, at_ms, har }) => [n, at_ms, har.response.status, har._unfinished]),
  ).toEqual([
    [1, 40, 200, undefined],
    [2, 40, 0, true],
    [2, 40, 200, true],
    [2, 40, 200, undefined],
  ]);
  expect(harOf(all)[0]).toMatchObject({ pageref: "tab-1", _frameId: "frame-1" });
  expect(requestsOf(all).at(-1)?.har._error).toBe("net::ERR_ABORTED");
});

test("each hop of a redirect is noted, and requests of a frame belong to its tab", () => {
  const { listen, browser, written } = startNotes();
  const tab = newSession("tab-1");
  listen(browser, tab);
  const { send, respond, finish } = listen(browser, newSession("frame-9", tab));
  send("a");
  send("a", {
    redirectResponse: {
      status: 302,
      statusText: "Found",
      headers: {},
      mimeType: "",
      connectionId: 0,
      encodedDataLength: 10,
    },
    request: { url: "http://site.test/second", method: "GET", headers: {} },
  });
  respond("a");
  finish("a");
  expect(
    harOf(written()).map(({ request, response, pageref }) => [
      request.url,
      response.status,
      pageref,
    ]),
  ).toEqual([
    ["http://site.test/a", 302, "tab-1"],
    ["http://site.test/second", 200, "tab-1"],
  ]);
});

test("what is noted of a job's requests has no headers", () => {
  const { listen, written } = startNotes([], true);
  const { send, respond, finish } = listen();
  const headers = { Accept: "text/html", "X-Long": "x".repeat(8_000) };
  send("a", { request: { url: "http://site.test/a", method: "GET", headers } });
  respond("a");
  finish("a");
  const all = written();
  expect(harOf(all)).toMatchObject([
    { request: { url: "http://site.test/a", headers: [] }, response: { status: 200, headers: [] } },
  ]);
  expect(Buffer.byteLength(JSON.stringify(all))).toBeLessThan(1_500);
});

// rules/recordings#secrets-in-recordings
test("no cookie, login or secret stands in a note in any form", () => {
  const late = "later&secret/äö";
  const { listen, written, mask } = startNotes(["hunter 22!"]);
  mask.hide([late]);
  const { send, emit, respond, finish } = listen();
  const query = [
    `a=${encodeURIComponent("hunter 22!")}`,
    "b=hunter+22%21",
    new URLSearchParams({ c: late }).toString(),
    `d=${encodeURIComponent(late)}`,
    `e=${encodeURIComponent("https://ann:hunter%2022@site.test/")}`,
    `f=${btoa("hunter 22!")}`,
  ].join("&");
  const headers = { Authorization: "Bearer planted-token", Cookie: "sid=planted-sid" };
  send("a", {
    request: { url: `http://bob:planted-login@site.test/?${query}`, method: "GET", headers },
  });
  emit("requestWillBeSentExtraInfo", { requestId: "a", headers });
  respond("a", { headers: { "Set-Cookie": "sid=planted-new", "X-Echo": "hunter 22!" } }, true);
  emit("responseReceivedExtraInfo", {
    requestId: "a",
    statusCode: 200,
    headers: { "set-cookie": "sid=planted-raw", "proxy-authorization": "Basic planted" },
  });
  finish("a");
  const all = written();
  const text = JSON.stringify(all);
  for (const part of ["planted", "hunter", "later", btoa("hunter 22!").replace(/=+$/, "")])
    expect(text).not.toContain(part);
  expect(harOf(all)[0]?.request.cookies).toEqual([{ name: "sid", value: "***" }]);
});

test("a note is bounded: a long request loses its headers, then the end of its address", () => {
  const { listen, written, frames } = startNotes();
  const { send, finish } = listen();
  const url = (length: number) => ({
    request: {
      url: `http://site.test/?${"a&".repeat(length / 2)}`,
      method: "GET",
      headers: Object.fromEntries(Array.from({ length: 800 }, (_, i) => [`h${i}`, `"\\${i}`])),
    },
  });
  send("headers", url(10));
  send("address", url(1_000_000));
  for (const id of ["headers", "address"]) finish(id);
  for (const frame of frames) expect(frame.length).toBeLessThan(MAX_REQUEST_BYTES + 1_000);
  const [headers, address] = harOf(written());
  expect(headers?.request.headers.length).toBe(800);
  expect(address).toMatchObject({ _shortened: true, request: { headers: [] } });
  expect(address?.request.url.length).toBe(2_000);
});

test("beyond 20,000 requests the recording says so once, and how many were left out", () => {
  const { listen, written, frames, said, notes } = startNotes();
  const { send, finish } = listen();
  for (let i = 0; i < MOST_REQUESTS + 30; i += 1) {
    send(`r${i}`);
    finish(`r${i}`);
  }
  // The first frame names the browser.
  expect(frames.splice(0)).toHaveLength(1 + MOST_REQUESTS);
  notes.look();
  notes.look();
  expect(written()).toEqual([{ dropped: 30 }]);
  expect(said).toEqual(["the limit of requests is reached: the ones that follow are left out"]);
}, 30_000);

test("beyond 32 MiB nothing more is written, whatever is under way", () => {
  const { listen, frames, said } = startNotes();
  const { send, finish } = listen();
  const headers = Object.fromEntries(
    Array.from({ length: 4 }, (_, i) => [`h${i}`, "x".repeat(8_000)]),
  );
  for (let i = 0; i < 1_500; i += 1) send(`r${i}`, {}, { ...headers });
  for (let i = 0; i < 1_500; i += 1) finish(`r${i}`);
  const bytes = frames.reduce((sum, { length }) => sum + length, 0);
  expect(bytes).toBeGreaterThan(31 * 1024 * 1024);
  expect(bytes).toBeLessThan(33 * 1024 * 1024);
  expect(said).toHaveLength(1);
});

test("of a thousand requests that never end the oldest makes room", () => {
  const { listen, written } = startNotes();
  const { send, finish } = listen();
  for (let i = 1; i <= 1_005; i += 1) send(`r${i}`);
  finish("r1005");
  const all = requestsOf(written());
  expect(all.map(({ n, har }) => [n, har._unfinished])).toEqual([
    ...[1, 2, 3, 4, 5].map((n) => [n, true]),
    [1_005, undefined],
  ]);
});

test("nothing is noted once the recording is over", () => {
  const { listen, written, end, said } = startNotes();
  const { send, finish } = listen();
  send("before");
  written();
  end();
  send("after");
  for (const id of ["before", "after"]) finish(id);
  expect([written(), said]).toEqual([[], []]);
});

test("two sessions of one target are heard once, and another browser begins anew", () => {
  const { notes, listen, listenTo, browser, written } = startNotes();
  const hear = notes.follow(browser);
  const [one, two] = [listenTo(hear), listenTo(hear)];
  for (const { send } of [one, two]) send("same");
  for (const { finish } of [one, two]) finish("same");
  one.send("open");
  const next = listen({ connection: {} as never, product: "Chrome/157.0", facts: null });
  next.send("open");
  next.finish("open");
  one.finish("open");
  const all = written();
  expect(requestsOf(all).map(({ n, har }) => [n, har._unfinished])).toEqual([
    [1, undefined],
    [2, true],
    [3, undefined],
  ]);
  expect(all.filter((note) => "browser" in note)).toHaveLength(2);
});

test("a request ends in the session that the browser has after a job", () => {
  const { listen, written } = startNotes();
  listen().send("long");
  const after = listen();
  after.finish("long");
  after.send("next");
  after.finish("next");
  const all = written();
  expect(requestsOf(all).map(({ n, har }) => [n, har._unfinished])).toEqual([
    [1, undefined],
    [2, undefined],
  ]);
  expect(all.filter((note) => "browser" in note)).toHaveLength(1);
});
