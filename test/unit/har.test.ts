import { expect, test } from "bun:test";
import { Har } from "#test/support/clients/har.ts";
import { fakeNetwork } from "#test/support/fakes/fake-network.ts";
import { CdpSession } from "#worker/browser/cdp/connection.ts";
import { harOf } from "#worker/browser/record/har.ts";
import type { Tracked } from "#worker/browser/record/targets.ts";
import { createTrace, MAX_TRACE_ENTRIES } from "#worker/browser/record/trace.ts";

/** A target whose events the test makes up. */
function fakeTarget(type = "page") {
  const session = new CdpSession(undefined as never, "s1", null, null);
  const target: Tracked = {
    session,
    target_id: "page-1",
    type,
    page: { target_id: "page-1", url: "http://site.test/" },
    parent: null,
    plain: null,
    ready: Promise.resolve(),
    doomed: false,
    is_new: false,
    seen: Promise.resolve(),
    unseen: null,
    is_seen: true,
  };
  const trace = createTrace();
  trace.watch(target);
  const network = fakeNetwork(session);
  const har = () =>
    Har.parse(
      JSON.parse(
        harOf({
          trace,
          product: "Chrome/1",
          titleOf: () => "",
          assetOf: () => null,
          mask: (text) => text,
        }),
      ),
    ).log;
  return { trace, ...network, har };
}

test("har.json: raw headers belong to the hops that have some, whichever event comes first", () => {
  const { emit, send, respond, finish, har } = fakeTarget();
  const raw = (headers: object) =>
    emit("requestWillBeSentExtraInfo", { requestId: "a", headers, associatedCookies: [] });
  raw({ Cookie: "first=1" });
  send("a");
  // An upgrade that the browser makes up by itself: nothing of it is on the wire.
  send("a", {
    redirectHasExtraInfo: true,
    redirectResponse: {
      status: 302,
      statusText: "Found",
      headers: {},
      mimeType: "",
      encodedDataLength: 10,
    },
    request: { url: "http://site.test/second", method: "GET", headers: {} },
  });
  raw({ Cookie: "second=2" });
  respond("a", {}, true);
  emit("responseReceivedExtraInfo", {
    requestId: "a",
    statusCode: 302,
    headers: { "Set-Cookie": "x=1\ny=2" },
  });
  emit("responseReceivedExtraInfo", {
    requestId: "a",
    statusCode: 304,
    headers: {},
    headersText: "x".repeat(40),
  });
  finish("a");
  const { entries } = har();
  expect(entries.map((e) => [e.request.cookies[0]?.name, e.response.status])).toEqual([
    ["first", 302],
    ["second", 304],
  ]);
  expect(entries[0]?.response.cookies.map(({ name }) => name)).toEqual(["x", "y"]);
  expect(entries[0]?.response.redirectURL).toBe("http://site.test/second");
  expect(entries[1]?.response).toMatchObject({ headersSize: 40, bodySize: 20 });
});

test("har.json: what is under way at the end has no end, what failed says why, what comes after the seal is left out", () => {
  const { trace, emit, send, respond, har } = fakeTarget();
  send("open");
  send("failed");
  emit("loadingFailed", { requestId: "failed", timestamp: 2, errorText: "net::ERR_ABORTED" });
  emit("loadingFinished", { requestId: "never seen", timestamp: 2, encodedDataLength: 1 });
  send("data", { request: { url: "data:text/plain,x", method: "GET", headers: {} } });
  trace.seal();
  send("late");
  respond("open");
  const { entries } = har();
  expect(entries.map((e) => [e.request.url, e._error, e._unfinished, e.response.status])).toEqual([
    ["http://site.test/open", undefined, true, 200],
    ["http://site.test/failed", "net::ERR_ABORTED", undefined, 0],
  ]);
});

test("har.json: credentials of an address show nowhere, encoded or not", () => {
  const { send, har } = fakeTarget();
  const inner = "http://ann:pw-inner@site.test/";
  send("a", {
    request: {
      url: `http://ben:pw-outer@site.test/?next=${encodeURIComponent(inner)}`,
      method: "GET",
      headers: {},
    },
  });
  const [entry] = har().entries;
  expect(entry?.request.queryString).toEqual([{ name: "next", value: "http://***@site.test/" }]);
  expect(JSON.stringify(entry)).not.toContain("pw-");
});

test("har.json: memory is bounded: 20,000 requests, and no headers beyond 32 million characters", () => {
  const { trace, send, finish } = fakeTarget();
  const long = "x".repeat(9_000);
  for (let i = 0; i < MAX_TRACE_ENTRIES + 100; i += 1) {
    send(`r${i}`, {}, i < 4_100 ? { long } : {});
    finish(`r${i}`);
  }
  expect(trace.entries.length).toBe(MAX_TRACE_ENTRIES);
  expect(trace.dropped).toBe(100);
  expect(trace.entries[0]?.request_headers.long?.length).toBe(8_192);
  const kept = trace.entries.filter((e) => Object.keys(e.request_headers).length > 0).length;
  expect(kept * 8_192).toBeLessThan(32_000_000);
  expect(kept * 8_192).toBeGreaterThan(30_000_000);
});
