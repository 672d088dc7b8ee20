import { describe, expect, test } from "bun:test";
import { replayEntryOf } from "#hub/fleet/archive/replay-entry.ts";
import type { HarEntry } from "#shared/protocol/schema/har.ts";
import { MAX_MISSED, type ReplayEntry } from "#shared/protocol/schema/replay.ts";
import { partOf } from "#worker/replay/answer.ts";
import { bodyDigest } from "#worker/replay/body-digest.ts";
import { createMatcher } from "#worker/replay/match.ts";
import { createTally } from "#worker/replay/report.ts";

const answer = (url: string, more: Partial<ReplayEntry> = {}): ReplayEntry => ({
  method: "GET",
  url,
  status: 200,
  headers: [],
  body: { name: url, size: 1 },
  ...more,
});
const named = (name: string) => ({ name, size: 1 });

/** Names of the bodies that answer these requests in turn; a reason where there is none. */
function play(
  entries: ReplayEntry[],
  asked: { method?: string; url: string; digest?: string | null }[],
): (string | null)[] {
  const matcher = createMatcher(entries);
  return asked.map(({ method = "GET", url, digest = null }) => {
    const found = matcher.find({ method, url, digest });
    return "reason" in found ? found.reason : (found.entry.body?.name ?? null);
  });
}

describe("a request finds its answer (rules/replay#matching)", () => {
  test("by its URL exactly, else without the parameters that change", () => {
    const entries = [
      answer("http://a.test/x?q=1&_=111", { body: named("first") }),
      answer("http://a.test/x?q=2", { body: named("second") }),
    ];
    const asked = ["x?q=1&_=111", "x?q=1&_=999", "x?q=2", "x?q=3"];
    expect(
      play(
        entries,
        asked.map((path) => ({ url: `http://a.test/${path}` })),
      ),
    ).toEqual(["first", "first", "second", "it is not in the capture"]);
  });

  test("in the order of the capture, then the last one again, and from the first after a rewind", () => {
    const url = "http://a.test/poll";
    const entries = ["one", "two"].map((name) => answer(url, { body: named(name) }));
    expect(play(entries, [{ url }, { url }, { url }])).toEqual(["one", "two", "two"]);
    const matcher = createMatcher(entries);
    matcher.find({ method: "GET", url, digest: null });
    matcher.rewind();
    expect(matcher.find({ method: "GET", url, digest: null })).toEqual({
      entry: answer(url, { body: named("one") }),
    });
  });

  test("with the same body, where both are known", () => {
    const url = "http://a.test/post";
    const sent = (digest: string | undefined, name: string) =>
      answer(url, { method: "POST", body: named(name), ...(digest && { digest }) });
    const post = (digest: string | null) => ({ method: "POST", url, digest });
    const both = [sent("aaaa", "a"), sent("bbbb", "b")];
    expect(play(both, [post("bbbb"), post("aaaa"), post("cccc"), { url }])).toEqual([
      "b",
      "a",
      "the capture has this request only with another body",
      "it is not in the capture",
    ]);
    expect(play([sent(undefined, "any")], [post("cccc"), post(null)])).toEqual(["any", "any"]);
  });

  test("first of all from the network, then second hand, and from nothing where nothing was kept", () => {
    const url = "http://a.test/x";
    const cached = answer(url, { is_second_hand: true, body: named("cached") });
    const lost = answer(url, { lacks: "the capture does not have its body", body: null });
    const unchanged = answer(url, { status: 304, body: null });
    const sent = answer(url, { body: named("sent") });
    expect(play([cached, unchanged, sent], [{ url }, { url }])).toEqual(["sent", "sent"]);
    expect(play([lost, unchanged, cached], [{ url }])).toEqual(["cached"]);
    expect(play([lost], [{ url }])).toEqual(["the capture does not have its body"]);
    expect(play([sent], [{ method: "HEAD", url }])).toEqual(["sent"]);
  });
});

test("the digest of a form does not depend on its boundary, and no digest is longer than 16 bits (rules/documents#har)", () => {
  const form = (boundary: string) =>
    bodyDigest(
      Buffer.from(`--${boundary}\r\n\r\nvalue\r\n--${boundary}--\r\n`),
      `multipart/form-data; boundary=${boundary}`,
    );
  expect(form("----one")).toBe(form("----another"));
  expect(bodyDigest(Buffer.from("a"), "")).not.toBe(bodyDigest(Buffer.from("b"), ""));
  expect(form("x")).toMatch(/^[0-9a-f]{4}$/);
});

describe("a part of a file (rules/replay#ranges)", () => {
  test("is cut from a whole body", () => {
    const whole = { name: "a", size: 100 };
    expect(partOf(whole, null)).toBe("whole");
    expect(partOf(whole, "bytes=10-19")).toEqual({ at: 10, length: 10, start: 10, total: 100 });
    expect(partOf(whole, "bytes=90-")).toEqual({ at: 90, length: 10, start: 90, total: 100 });
    expect(partOf(whole, "bytes=-5")).toEqual({ at: 95, length: 5, start: 95, total: 100 });
    for (const odd of ["bytes=200-", "bytes=5-2", "bytes=0-1,5-6", "lines=1-2", "bytes=-"])
      expect(partOf(whole, odd)).toBe("whole");
  });

  test("is what is held of it, where only parts are", () => {
    const ranges = [
      { start: 0, end: 9 },
      { start: 50, end: 69 },
    ];
    const parts = { name: "a", size: 30, ranges, total: 100 };
    expect(partOf(parts, "bytes=0-")).toEqual({ at: 0, length: 10, start: 0, total: 100 });
    expect(partOf(parts, null)).toEqual({ at: 0, length: 10, start: 0, total: 100 });
    expect(partOf(parts, "bytes=60-99")).toEqual({ at: 20, length: 10, start: 60, total: 100 });
    expect(partOf(parts, "bytes=20-30")).toBe("lacking");
  });
});

test("headers of the wire and masked values are not replayed (rules/replay#what-is-answered)", () => {
  const header = (name: string, value: string) => ({ name, value });
  const entry = {
    request: { method: "GET", url: "http://a.test/", httpVersion: "h2", headers: [] },
    response: {
      status: 200,
      statusText: "",
      httpVersion: "h2",
      headers: [
        header(":status", "200"),
        header("content-encoding", "br"),
        header("Content-Length", "12"),
        header("set-cookie", "***"),
        header("content-type", "text/html"),
        header("vary", "Accept"),
        header("link", "</a>"),
        header("link", "</b>"),
      ],
      content: { size: 0, mimeType: "text/html" },
      redirectURL: "http://a.test/next",
      bodySize: 0,
    },
  } as unknown as HarEntry;
  expect(replayEntryOf(entry, undefined)).toEqual({
    method: "GET",
    url: "http://a.test/",
    status: 200,
    headers: [
      ["content-type", "text/html"],
      ["vary", "Accept"],
      ["link", "</a>"],
      ["link", "</b>"],
      ["location", "http://a.test/next"],
    ],
    body: null,
  });
  expect(
    replayEntryOf(
      { ...entry, response: { ...entry.response, status: 0 }, _error: "net::ERR_FAILED" },
      undefined,
    ).lacks,
  ).toBe("it had no answer when the page was captured (net::ERR_FAILED)");
});

test("a report lists each request once, and a hundred at most (rules/replay#the-report)", () => {
  const tally = createTally("job1");
  for (let i = 0; i < 150; i += 1) tally.missed("GET", `http://a.test/${i}`, "why");
  tally.missed("GET", "http://a.test/0", "why");
  tally.answered();
  const report = tally.report();
  expect(report).toMatchObject({ job_id: "job1", answered: 1, missed_count: 151 });
  expect(report.missed).toHaveLength(MAX_MISSED);
});
