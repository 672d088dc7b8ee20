import { expect, test } from "bun:test";
import fc from "fast-check";
import { createInputTeller } from "#hub/fleet/viewer/input-teller.ts";
import { createRfbFilter, type ViewerInput } from "#hub/fleet/viewer/rfb-filter.ts";
import type { ViewerEvent } from "#shared/protocol/schema/viewer-event.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";

/** What a viewer does, as its session's recording tells it (rules/recordings#viewers-in-a-recording). */

const HELLO = Buffer.concat([Buffer.from("RFB 003.008\n"), Buffer.from([1, 1])]);
const pointer = (buttons: number, x: number, y: number) =>
  Buffer.from([5, buttons, x >> 8, x & 255, y >> 8, y & 255]);
const key = (down: boolean, sym: number) =>
  Buffer.from([4, down ? 1 : 0, 0, 0, 0, 0, sym >> 8, sym & 255]);
const SENT = [
  pointer(0, 300, 40),
  pointer(1, 300, 40),
  Buffer.from([5, 0x81, 1, 0, 0, 9, 3]),
  key(true, 0x70),
  key(false, 0x70),
  Buffer.from([255, 0, 0, 1, 0, 0, 0, 0x70, 0, 0, 0, 0x19]),
  Buffer.from([6, 0, 0, 0, 0, 0, 0, 3, 1, 2, 3]),
];
const HEARD: ViewerInput[] = [
  { kind: "pointer", buttons: 0, x: 300, y: 40 },
  { kind: "pointer", buttons: 1, x: 300, y: 40 },
  { kind: "pointer", buttons: 1, x: 256, y: 9 },
  { kind: "key" },
  { kind: "key" },
];

function heardOf(pieces: Iterable<Uint8Array>, view_only = false): ViewerInput[] {
  const heard: ViewerInput[] = [];
  const filter = createRfbFilter(view_only, (input) => heard.push(input));
  for (const piece of pieces) filter.push(piece);
  return heard;
}

test("input is heard whole wherever the stream is cut, keys without what they are, and none of a viewer that only watches", () => {
  const whole = Buffer.concat([HELLO, ...SENT]);
  for (let cut = 0; cut <= whole.length; cut += 1)
    expect(heardOf([whole.subarray(0, cut), whole.subarray(cut)])).toEqual(HEARD);
  const bytes = [...whole].map((byte) => Buffer.from([byte]));
  expect(heardOf(bytes)).toEqual(HEARD);
  expect(heardOf(bytes, true)).toEqual([]);
});

test("whatever a viewer sends, nothing is heard but input, and a length that no message has ends it", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (noise) => {
      const filter = createRfbFilter(false, (input) => {
        expect(["key", "pointer"]).toContain(input.kind);
      });
      try {
        filter.push(Buffer.concat([HELLO, noise]));
      } catch (err) {
        expect((err as Error).name).toBe("RfbError");
      }
    }),
    { numRuns: 300 },
  );
  for (const sent of [
    [6, 0, 0, 0, 0x7f, 255, 255, 255],
    [248, 0, 0, 0, 0, 0, 0, 0, 255],
    [255, 1, 0, 1],
  ])
    expect(() => heardOf([HELLO, Buffer.from(sent)])).toThrow();
});

function rig(view_only = false) {
  const clock = createFakeClock();
  const sent: ViewerEvent[][] = [];
  const viewer = { name: "desk", address: "10.0.0.7" };
  const send = (events: ViewerEvent[]) => void sent.push(events);
  const teller = createInputTeller({ clock, viewer, view_only, send });
  const click = (x: number, y: number) => {
    teller.heard({ kind: "pointer", buttons: 1, x, y });
    teller.heard({ kind: "pointer", buttons: 0, x, y });
  };
  const inputs = () => sent.flat().filter((event) => event.type === "input");
  return { clock, teller, click, sent, inputs };
}
const BY = { by: "desk", from: "10.0.0.7", mode: "control" } as const;

test("a viewer comes, takes over with its first click or key, and leaves (rules/recordings#viewers-in-a-recording)", async () => {
  const { clock, teller, click, sent } = rig();
  teller.came();
  teller.heard({ kind: "pointer", buttons: 0, x: 1, y: 1 });
  await clock.advance(5_000);
  click(300, 40);
  await clock.advance(1_000);
  teller.left();
  teller.left();
  click(1, 1);
  expect(sent).toEqual([
    [{ type: "viewer", state: "connected", ...BY }],
    [{ type: "viewer", state: "took_over", ...BY }],
    [{ type: "input", kind: "pointer", count: 1, ms: 1_000, x: 300, y: 40, by: "desk" }],
    [{ type: "viewer", state: "disconnected", ...BY }],
  ]);
});

test("a minute of typing is a handful of events, and a double click is one (rules/recordings#viewers-in-a-recording)", async () => {
  const { clock, teller, click, inputs } = rig();
  for (let i = 0; i < 300; i += 1) {
    teller.heard({ kind: "key" });
    await clock.advance(200);
  }
  await clock.advance(5_000);
  expect(inputs().length).toBeLessThanOrEqual(5);
  expect(inputs().reduce((sum, { count }) => sum + count, 0)).toBe(300);
  click(5, 6);
  await clock.advance(200);
  click(5, 6);
  await clock.advance(5_000);
  expect(inputs().at(-1)).toMatchObject({ kind: "pointer", count: 2, x: 5, y: 6 });
});

test("a flood is counted and makes no more than 20 events a second, and nothing stays behind when the viewer leaves", async () => {
  const { clock, teller, click, sent, inputs } = rig();
  for (let i = 0; i < 10_000; i += 1) {
    teller.heard({ kind: "key" });
    click(i % 1_000, 3);
  }
  expect(inputs()).toEqual([]);
  await clock.advance(1_000);
  expect(inputs().length).toBeLessThanOrEqual(20);
  teller.left();
  expect(inputs().reduce((sum, { count }) => sum + count, 0)).toBe(20_000);
  expect(Math.max(...sent.map(({ length }) => length))).toBeLessThanOrEqual(20);
  expect(clock.sleepers()).toEqual([]);
});

test("the wheel is a burst of its own, with the place where it began", async () => {
  const { clock, teller, inputs } = rig();
  for (let i = 0; i < 5; i += 1) {
    teller.heard({ kind: "pointer", buttons: 16, x: 9, y: 9 + i });
    teller.heard({ kind: "pointer", buttons: 0, x: 9, y: 9 + i });
    await clock.advance(100);
  }
  await clock.advance(3_000);
  expect(inputs()).toMatchObject([{ kind: "wheel", count: 5, x: 9, y: 9 }]);
});
