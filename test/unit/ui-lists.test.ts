import { describe, expect, test } from "bun:test";
import { filterAssets, isText } from "#hub/ui/client/fleet/job/asset-list.ts";
import { spansOf, typeOf } from "#hub/ui/client/fleet/job/har.ts";
import { lineOf } from "#hub/ui/client/fleet/job/log-line.ts";
import { countStates, filterLanes, lanesOf } from "#hub/ui/client/fleet/wall/lanes.ts";
import { addressParts } from "#hub/ui/client/lib/address.ts";
import { type Column, pickFrom, rowPx, shownAt } from "#hub/ui/client/parts/data-table/column.ts";
import type { Asset } from "#shared/protocol/schema/asset.ts";
import type { JobEvent } from "#shared/protocol/schema/job.ts";
import type { Session } from "#shared/protocol/schema/session.ts";
import type { Worker } from "#shared/protocol/schema/worker.ts";
import { madeEntry } from "#test/support/rigs/made-recording.ts";

/** What lists show and do, apart from how they look (rules/web-app#every-page). */

const column = (key: string, fields: Partial<Column<string>> = {}): Column<string> => ({
  key,
  title: key,
  width: "1fr",
  cell: () => key,
  ...fields,
});

describe("a table", () => {
  test("has rows as high as the styles have them, in both densities", () => {
    expect([
      rowPx(false, false),
      rowPx(false, true),
      rowPx(true, false),
      rowPx(true, true),
    ]).toEqual([32, 28, 56, 48]);
  });

  test("takes columns by name, in the order that is asked for, and leaves out what there is not", () => {
    const pick = pickFrom({ a: column("a"), b: column("b") });
    expect(pick("b", "none", "a").map(({ key }) => key)).toEqual(["b", "a"]);
  });

  test("has a card on a phone where it has columns in a wider window, and never both", () => {
    const all = [
      column("card", { below: "sm" }),
      column("page", { from: "sm" }),
      column("who", { from: "lg" }),
      column("when"),
    ];
    const keys = (width: number) => shownAt(all, width).map(({ key }) => key);
    expect([keys(0), keys(767)]).toEqual([
      ["card", "when"],
      ["card", "when"],
    ]);
    expect([keys(768), keys(1_199)]).toEqual([
      ["page", "when"],
      ["page", "when"],
    ]);
    expect(keys(1_200)).toEqual(["page", "who", "when"]);
  });
});

test("an address has its host with the port, and never its login", () => {
  const said = (url: string) => {
    const { host, rest } = addressParts(url);
    return [host, rest];
  };
  expect(said("http://127.0.0.1:8620/a?b#c")).toEqual(["127.0.0.1:8620", "/a?b#c"]);
  expect(said("https://user:pass@shop.test/x")).toEqual(["shop.test", "/x"]);
  expect(said("HTTPS://Shop.test")).toEqual(["Shop.test", ""]);
  expect(said("https://[::1]:8443/")).toEqual(["[::1]:8443", "/"]);
  // What is no address of a host is shown as it is.
  expect(said("about:blank")).toEqual(["", "about:blank"]);
  expect(said("")).toEqual(["", ""]);
});

describe("the wall", () => {
  const lane = (lane_idx: number, fields: object = {}) => ({
    lane_idx,
    state: "warm",
    session_id: null,
    job_id: null,
    ...fields,
  });
  const workers = [
    {
      worker_id: "w1",
      hostname: "Rack",
      lanes: [lane(0), lane(1, { session_id: "s1", state: "running" })],
    },
    {
      worker_id: "w2",
      hostname: "desk",
      lanes: [
        lane(0, { state: "dead" }),
        lane(1, { session_id: "gone", state: "running", job_id: "j7" }),
      ],
    },
  ] as unknown as Worker[];
  const sessions = [{ session_id: "s1", title: "A Shop", url: "http://shop.test/" }] as Session[];
  const lanes = lanesOf(workers, sessions);
  const keys = (filter: object) =>
    filterLanes(lanes, { worker: "", state: "", q: "", ...filter }).map(({ key }) => key);

  test("has every lane with its session, and one whose session is not known", () => {
    expect(lanes.map(({ key, session }) => [key, session?.session_id])).toEqual([
      ["w1 0", undefined],
      ["w1 1", "s1"],
      ["w2 0", undefined],
      ["w2 1", undefined],
    ]);
  });

  test("is filtered by worker, state and any part of what is written on a tile", () => {
    expect(keys({ worker: "w2" })).toEqual(["w2 0", "w2 1"]);
    expect(keys({ state: "running" })).toEqual(["w1 1", "w2 1"]);
    expect(keys({ q: " shop " })).toEqual(["w1 1"]);
    expect(keys({ q: "RACK" })).toEqual(["w1 0", "w1 1"]);
    expect([keys({ q: "j7" }), keys({ q: "gone" }), keys({ q: "w1", worker: "w2" })]).toEqual([
      ["w2 1"],
      ["w2 1"],
      [],
    ]);
  });

  test("counts states in one order, without those that no lane has and with those nobody knows", () => {
    expect(countStates(lanes)).toEqual([
      ["running", 2],
      ["warm", 1],
      ["dead", 1],
    ]);
    const odd = lanesOf([{ worker_id: "w", lanes: [lane(0, { state: "new" })] }] as never, []);
    expect(countStates(odd)).toEqual([["new", 1]]);
  });
});

describe("assets", () => {
  const asset = (name: string, fields: object) => ({ name, source_url: "", ...fields }) as Asset;
  const all = [
    asset("a.png", { kind: "image", mime: "image/png", source_url: "http://cdn.test/logo" }),
    asset("b.js", { kind: "other", mime: "text/javascript" }),
  ];
  test("are found by kind, and by name, address or type in any case", () => {
    const names = (kind: string, q: string) =>
      filterAssets(all, { kind, q }).map(({ name }) => name);
    expect(names("", "")).toEqual(["a.png", "b.js"]);
    expect(names("image", "")).toEqual(["a.png"]);
    expect([names("", "CDN"), names("", "javascript"), names("image", "javascript")]).toEqual([
      ["a.png"],
      ["b.js"],
      [],
    ]);
  });

  test("are text where a person can read them", () => {
    const text = [
      "text/html; charset=utf-8",
      "application/json",
      "image/svg+xml",
      "application/vnd.apple.mpegurl",
    ];
    const other = ["image/png", "application/octet-stream", "font/woff2", ""];
    expect([text.map(isText), other.map(isText)]).toEqual([
      [true, true, true, true],
      [false, false, false, false],
    ]);
  });
});

describe("the log of a job", () => {
  const event = (type: string, data: object): JobEvent =>
    ({ seq: 4, ts: "2026-01-01T00:00:01.042Z", type, data }) as JobEvent;
  const start = Date.parse("2026-01-01T00:00:00Z");
  test("has each event as a line with its fields, and how it ended", () => {
    const log = { message: "opened", level: "warn", stage: "open" };
    expect(lineOf(event("log", { ...log, fields: { status: 200, url: "u" } }), start)).toEqual({
      seq: 4,
      at: "+1.042 s",
      level: "warn",
      stage: "open",
      text: "opened status=200 url=u",
    });
    expect(lineOf(event("log", { ...log, fields: null }), start).text).toBe("opened");
    expect(lineOf(event("error", { detail: "no such host" }), start)).toMatchObject({
      level: "error",
      stage: "failed",
      text: "no such host",
    });
    expect(lineOf(event("done", { status: "completed" }), start)).toMatchObject({
      level: "info",
      stage: "done",
      text: "completed",
    });
  });
});

describe("the phases of a request", () => {
  const entry = madeEntry("http://a.test/");
  test("follow each other, with the time of TLS taken out of that of the connection", () => {
    const timings = { blocked: 2, dns: -1, connect: 30, ssl: 20, send: 0, wait: 40, receive: 8 };
    expect(spansOf({ ...entry, timings } as never, 100)).toEqual([
      { name: "blocked", from_ms: 100, ms: 2 },
      { name: "connect", from_ms: 102, ms: 10 },
      { name: "ssl", from_ms: 112, ms: 20 },
      { name: "wait", from_ms: 132, ms: 40 },
      { name: "receive", from_ms: 172, ms: 8 },
    ]);
  });

  test("belong to a request of the browser's own type, else to one of its answer", () => {
    const response = { content: { mimeType: "text/css; charset=utf-8" } };
    expect(typeOf({ _resourceType: "fetch", response } as never)).toBe("fetch");
    expect(typeOf({ response } as never)).toBe("text/css");
  });
});
