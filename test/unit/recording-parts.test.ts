import { expect, test } from "bun:test";
import type { RecordingEvent } from "#shared/recording/events.ts";
import { RecordingEvent as Schema } from "#shared/recording/events.ts";
import { createMask } from "#shared/recording/masks.ts";
import { createEventWriter } from "#worker/browser/recording/event-writer.ts";
import { createLooks, type Looked } from "#worker/browser/recording/looks.ts";
import {
  createUpdateReader,
  readServerInit,
  type ScreenUpdate,
} from "#worker/browser/recording/rfb-updates.ts";
import { createScreenSink } from "#worker/browser/recording/screen-sink.ts";

const rect = (w: number, h: number, encoding: number, data: Buffer = Buffer.alloc(0)): Buffer => {
  const head = Buffer.alloc(12);
  head.writeUInt16BE(w, 4);
  head.writeUInt16BE(h, 6);
  head.writeInt32BE(encoding, 8);
  return Buffer.concat([head, data]);
};
const update = (...rects: Buffer[]): Buffer =>
  Buffer.concat([Buffer.from([0, 0, 0, rects.length]), ...rects]);
const tight = (w: number, h: number, ...data: number[]) => rect(w, h, 7, Buffer.from(data));

/** Every shape of rectangle that the server may send. */
const UPDATES = [
  update(rect(2, 2, 0, Buffer.alloc(16)), rect(5, 5, 1, Buffer.alloc(4))),
  update(tight(9, 9, 0x80, 1, 2, 3)),
  update(tight(9, 9, 0x90, 5, 1, 2, 3, 4, 5)),
  // A length of two bytes; a palette of two colours, of three, and what is too small for a length.
  update(rect(64, 64, 7, Buffer.concat([Buffer.from([0, 0x80, 0x02]), Buffer.alloc(256)]))),
  update(tight(16, 8, 0x40, 1, 1, 1, 1, 1, 2, 2, 2, 3, 9, 9, 9)),
  update(tight(2, 2, 0x40, 1, 2, 1, 1, 1, 2, 2, 2, 3, 3, 3, 0, 1, 2, 0)),
  update(tight(1, 2, 0x40, 2, 1, 2, 3, 4, 5, 6)),
  update(rect(1280, 720, -308, Buffer.from([1, 0, 0, 0, ...new Array(16).fill(0)]))),
  update(),
];
const OTHERS = [
  Buffer.from([2]),
  Buffer.concat([Buffer.from([3, 0, 0, 0, 0, 0, 0, 6]), Buffer.from("secret")]),
  Buffer.concat([Buffer.from([3, 0, 0, 0, 0xff, 0xff, 0xff, 0xfa]), Buffer.from("secret")]),
  Buffer.concat([Buffer.from([1, 0, 0, 0, 0, 2]), Buffer.alloc(12)]),
];

// rules/recordings#secrets-in-recordings
test("updates are told apart however they were cut, and the clipboard is left out", () => {
  const all = Buffer.concat(UPDATES.flatMap((one, i) => [one, OTHERS[i % 4] as Buffer]));
  for (const size of [1, 3, 7, 100, all.length]) {
    const read = createUpdateReader();
    const found: ScreenUpdate[] = [];
    for (let at = 0; at < all.length; at += size) found.push(...read(all.subarray(at, at + size)));
    expect(found.map(({ bytes }) => bytes.toString("hex"))).toEqual(
      UPDATES.map((one) => one.toString("hex")),
    );
    expect(found.filter((one) => one.size !== null).map((one) => one.size)).toEqual([
      { width: 1280, height: 720 },
    ]);
  }
  expect(() => createUpdateReader()(Buffer.from([9]))).toThrow("unknown message 9");
  expect(() => createUpdateReader()(update(rect(1, 1, 16)))).toThrow("unknown encoding 16");
});

test("a server's description is read when it is whole", () => {
  const init = Buffer.concat([Buffer.alloc(23), Buffer.from([4]), Buffer.from("lanemore")]);
  init.writeUInt16BE(640, 0);
  init.writeUInt16BE(480, 2);
  expect(readServerInit(init.subarray(0, 26))).toBeNull();
  expect(readServerInit(init)).toEqual({
    size: { width: 640, height: 480 },
    name: "lane",
    rest: Buffer.from("more"),
  });
});

// rules/recordings#secrets-in-recordings
test("what is secret is masked, and what is long is cut, before an event is written", () => {
  const fit = createEventWriter(createMask(["hunter22", "ab"]));
  const action = (args: Record<string, unknown>): RecordingEvent => ({
    type: "action",
    name: "fill",
    ms: 1,
    outcome: "done",
    arguments: args,
  });
  expect(
    fit(action({ selector: "#a[x=hunter22]", text: "anything", values: ["b"] })),
  ).toMatchObject({
    arguments: { selector: "#a[x=***]", text: "*** (8 characters)", values: "***" },
  });
  expect(fit({ type: "navigation", url: "https://ann:pw@site.test/?k=hunter22" })).toMatchObject({
    url: "https://***@site.test/?k=***",
  });
  expect(fit({ type: "stage", stage: "run", text: "a drab lab" })).toMatchObject({
    text: "a drab lab",
  });
  const long: RecordingEvent[] = [
    { type: "console", level: "x".repeat(300), text: "é".repeat(9_000), url: "u".repeat(9_000) },
    { type: "request_failed", url: "u", error: "e".repeat(900) },
    action({ code: "c".repeat(9_000), deep: { a: { b: { c: { d: { e: 1 } } } } } }),
    action({ many: new Array(200).fill("x".repeat(2_000)) }),
  ];
  for (const event of long) {
    const fitted = fit(event);
    expect(Schema.safeParse(fitted).error).toBeUndefined();
    expect(Buffer.byteLength(JSON.stringify(fitted))).toBeLessThan(16 * 1024);
  }
});

test("a look tells what has changed since the last one: tabs, pages and downloads", () => {
  const told: RecordingEvent[] = [];
  const tabs = [{ target_id: "t1", url: "about:blank" }];
  const files: { name: string; url: string; state: string; size: number }[] = [];
  let active: string | null = "t1";
  let loading: string | null = null;
  const live = {
    tabs: () => tabs.map((tab) => ({ ...tab })),
    isLoading: (tab: string) => loading === tab,
    activeTarget: () => active,
    files: { listDownloads: () => files },
  } as unknown as Looked;
  const { look, showed } = createLooks(live, (event) => told.push(event));
  const types = () => told.splice(0).map((e) => ("state" in e ? `${e.type} ${e.state}` : e.type));
  look();
  expect(types()).toEqual(["tab opened", "tab active"]);
  look();
  expect(types()).toEqual([]);
  tabs[0] = { target_id: "t1", url: "https://site.test/" };
  tabs.push({ target_id: "t2", url: "https://site.test/b" });
  files.push({ name: "a.csv", url: "https://site.test/a", state: "in_progress", size: 0 });
  active = "t2";
  look();
  expect(types()).toEqual([
    ...["navigation", "tab opened", "navigation", "tab active"],
    "download began",
  ]);
  tabs.pop();
  active = "t1";
  files[0] = { name: "a.csv", url: "https://site.test/a", state: "completed", size: 9 };
  look();
  expect(types()).toEqual(["tab closed", "tab active", "download completed"]);

  // An address that a tab is on its way to is told with the status of its answer, once.
  loading = "t1";
  tabs[0] = { target_id: "t1", url: "https://site.test/c" };
  look();
  expect(types()).toEqual([]);
  loading = null;
  const shown = { type: "navigation", tab: "t1", url: "https://site.test/c", status: 404 } as const;
  showed(shown);
  look();
  expect(told.splice(0)).toEqual([shown]);
  showed({ ...shown, tab: "t3" });
  tabs.push({ target_id: "t3", url: shown.url });
  look();
  expect(types()).toEqual(["tab opened", "navigation"]);
});

test("a chunk lasts until its changes are worth its picture, within 20 and 120 s and 2 MB (rules/recordings#the-file)", () => {
  let ms = 0;
  const sink = createScreenSink({ ms: () => ms, write: () => {} });
  const begin = (picture: number) => {
    ms = 1_000;
    sink.begin({ width: 8, height: 8, name: "lane", why: "length" });
    // The bars of the browser first, then the page.
    sink.update(new Uint8Array(10));
    ms = 3_999;
    sink.update(new Uint8Array(picture - 10));
    ms = 4_000;
  };
  const isDueAfter = (after_ms: number) => {
    ms = 1_000 + after_ms;
    return sink.isDue();
  };
  begin(1_000);
  sink.update(new Uint8Array(999));
  expect(isDueAfter(20_000)).toBe(false);
  expect(isDueAfter(119_999)).toBe(false);
  expect(isDueAfter(120_000)).toBe(true);
  sink.update(new Uint8Array(1));
  expect(isDueAfter(19_999)).toBe(false);
  expect(isDueAfter(20_000)).toBe(true);
  begin(1_000);
  expect(isDueAfter(20_000)).toBe(false);
  begin(2 * 1024 * 1024);
  expect(isDueAfter(1)).toBe(true);
});
