import { expect, test } from "bun:test";
import { RecordMode } from "#shared/protocol/schema/record-mode.ts";
import {
  type Box,
  MAX_EVENT_BYTES,
  RecordingEvent,
  type TimedEvent,
} from "#shared/recording/events.ts";
import {
  type ChunkStart,
  createFrameReader,
  encodeFrame,
  encodeJsonFrame,
  FRAME,
  FRAME_HEAD_BYTES,
  type Frame,
  frameAt,
  framesOf,
  jsonOf,
  MAX_FRAME_BYTES,
  type RecordingEnd,
  RecordingError,
} from "#shared/recording/frames.ts";
import { addToIndex, chunkAt, emptyIndex } from "#shared/recording/index-of.ts";

const picture = (size: number, fill: number) => new Uint8Array(size).fill(fill);
const start = { type: "start", at: "2026-11-20T10:00:00.000Z", of: "job", id: "j1" };
const chunk = (why: string): ChunkStart => ({ width: 1920, height: 1080, name: "lane", why });

/** A start, two chunks with an event between their pictures, and an end. */
const PIECES = [
  encodeJsonFrame(FRAME.event, 0, start),
  encodeJsonFrame(FRAME.chunk, 10, chunk("start")),
  encodeFrame(FRAME.rfb, 12, picture(1_000, 1)),
  encodeJsonFrame(FRAME.event, 900, { type: "note", level: "info", text: "é" }),
  encodeFrame(FRAME.rfb, 950, picture(10, 2)),
  encodeJsonFrame(FRAME.chunk, 20_000, chunk("length")),
  encodeFrame(FRAME.rfb, 20_001, picture(500, 3)),
  encodeJsonFrame(FRAME.end, 21_000, { why: "ended" } satisfies RecordingEnd),
];
const WHOLE = new Uint8Array(Buffer.concat(PIECES));
const shapeOf = ({ kind, ms, offset, length }: Frame) => ({ kind, ms, offset, length });

// rules/recordings#the-file
test("frames are read back as they were written, however the file was cut", () => {
  const expected = [...framesOf(WHOLE)];
  expect(expected.map(({ kind }) => kind)).toEqual([1, 2, 3, 1, 3, 2, 3, 4]);
  expect(expected.map(({ length }) => length)).toEqual(PIECES.map(({ length }) => length));
  expect(jsonOf(expected[3] as Frame)).toEqual({ type: "note", level: "info", text: "é" });
  for (const size of [1, 7, 9, 300, WHOLE.length]) {
    const take = createFrameReader();
    const read: Frame[] = [];
    for (let at = 0; at < WHOLE.length; at += size) read.push(...take(WHOLE.slice(at, at + size)));
    expect(read.map(shapeOf)).toEqual(expected.map(shapeOf));
    expect(read[2]?.payload).toEqual(picture(1_000, 1));
  }
});

// rules/recordings#the-file
test("a last frame that was torn does not count, wherever it was torn", () => {
  const before = WHOLE.length - (PIECES.at(-1)?.length ?? 0);
  for (let cut = before; cut < WHOLE.length; cut += 1)
    expect([...framesOf(WHOLE.subarray(0, cut))]).toHaveLength(7);
  expect([...framesOf(new Uint8Array(0))]).toEqual([]);
  expect(frameAt(WHOLE.subarray(0, FRAME_HEAD_BYTES), 0)).toBeNull();
});

test("what is no recording, or a frame beyond the bound, is refused", () => {
  expect(() => [...framesOf(new TextEncoder().encode("GET / HTTP/1.1\r\n"))]).toThrow(
    RecordingError,
  );
  expect(() => [...framesOf(new Uint8Array(9))]).toThrow("no frame begins at byte 0");
  expect(() => encodeFrame(FRAME.rfb, 0, new Uint8Array(MAX_FRAME_BYTES))).toThrow(RecordingError);
  expect(() => createFrameReader(40)(new Uint8Array(9))).toThrow("byte 40");
  expect(jsonOf({ payload: picture(3, 0xff) })).toBeNull();
});

test("a frame's time stays within its 32 bits", () => {
  const [early] = framesOf(encodeFrame(FRAME.rfb, -5, picture(1, 0)));
  const [late] = framesOf(encodeFrame(FRAME.rfb, 2 ** 40 + 0.5, picture(1, 0)));
  expect([early?.ms, late?.ms]).toEqual([0, 0xffffffff]);
});

test("the index names every chunk with its time and place, and can be continued", () => {
  let index = emptyIndex();
  for (const frame of framesOf(WHOLE)) {
    // As it is stored and read again by another hub.
    index = JSON.parse(JSON.stringify(index));
    addToIndex(index, frame);
  }
  const first = PIECES[0]?.length ?? 0;
  const second = PIECES.slice(0, 5).reduce((sum, { length }) => sum + length, 0);
  expect(index).toEqual({
    bytes: WHOLE.length,
    ms: 21_000,
    events: 2,
    end: "ended",
    chunks: [
      { at_ms: 10, ms: 19_990, offset: first, length: second - first, width: 1920, height: 1080 },
      {
        at_ms: 20_000,
        ms: 1_000,
        offset: second,
        length: WHOLE.length - second,
        width: 1920,
        height: 1080,
      },
    ],
  });
  const { offset, length } = index.chunks[1] as { offset: number; length: number };
  const alone = [...framesOf(WHOLE.subarray(offset, offset + length), offset)];
  expect(alone.map(({ kind }) => kind)).toEqual([2, 3, 4]);
});

test("a chunk is found by the moment, and hostile values do not break the index", () => {
  const index = emptyIndex();
  const hostile = [
    encodeJsonFrame(FRAME.chunk, 500, { width: -1, height: 1e9 }),
    encodeFrame(FRAME.chunk, 100, picture(4, 0x7b)),
    encodeJsonFrame(FRAME.chunk, 900, null),
    encodeFrame(99, 950, picture(4, 0)),
  ];
  for (const frame of framesOf(Buffer.concat(hostile))) addToIndex(index, frame);
  expect(index.chunks.map(({ at_ms, ms, width, height }) => [at_ms, ms, width, height])).toEqual([
    [500, 0, 0, 16_384],
    [500, 400, 0, 0],
    [900, 50, 0, 0],
  ]);
  expect(chunkAt(index.chunks, 499)).toBeNull();
  expect(chunkAt(index.chunks, 500)?.offset).toBe(index.chunks[1]?.offset as number);
  expect(chunkAt(index.chunks, 1e9)).toBe(index.chunks[2] as never);
});

// rules/recordings#the-events
test("events that no reader knows, or that are too long, do not parse", () => {
  const parses = (value: unknown) => RecordingEvent.safeParse(value).success;
  expect(parses({ ...start, mode: "screen", screen: "headful" })).toBe(true);
  const box: Box = { x: 1, y: 2, width: 30, height: 4 };
  const timed: TimedEvent = {
    type: "action",
    name: "click",
    ms: 40,
    outcome: "done",
    box,
    at_ms: 1_200,
  };
  expect(parses(timed)).toBe(true);
  for (const mode of RecordMode.options)
    expect(parses({ ...start, mode, screen: "headless" })).toBe(true);
  const longest = { type: "note", level: "info", text: "é".repeat(2_000) };
  expect(JSON.stringify(longest).length).toBeLessThan(MAX_EVENT_BYTES);
  expect(parses({ type: "input", kind: "keys", count: 4 })).toBe(true);
  expect(parses({ type: "later" })).toBe(false);
  expect(parses({ type: "note", level: "info", text: "x".repeat(2_001) })).toBe(false);
  expect(parses({ type: "error", text: "x", line: -1 })).toBe(false);
});
