import { describe, expect, test } from "bun:test";
import { chunkFor, piecesUpTo, planSeek } from "#hub/ui/client/fleet/player/model/seek.ts";
import {
  grow,
  momentOfParam,
  momentOfTime,
  momentParam,
  placeText,
  seek,
  startTransport,
  tick,
  toggle,
} from "#hub/ui/client/fleet/player/model/transport.ts";
import { createChunks } from "#hub/ui/client/fleet/player/screen/chunks.ts";
import { makeRecording } from "#test/support/rigs/made-recording.ts";

/** Where the player is, and what it reads and decodes to be there (rules/recordings#the-player). */

const ended = startTransport({ whole_ms: 10_000, live: false, at_ms: null });
const live = startTransport({ whole_ms: 10_000, live: true, at_ms: null });

describe("where the player is", () => {
  test("an ended recording and a live one begin at their end, both at the moment of a link", () => {
    expect(ended).toMatchObject({ ms: 10_000, following: false, playing: false });
    expect(live).toMatchObject({ ms: 10_000, following: true });
    expect(startTransport({ whole_ms: 10_000, live: true, at_ms: 2_000 })).toMatchObject({
      ms: 2_000,
      following: false,
    });
    expect(startTransport({ whole_ms: 10_000, live: false, at_ms: 99_000 }).ms).toBe(10_000);
  });

  test("it plays as fast as it was told, stops at the end, and begins anew from there", () => {
    const playing = { ...toggle(ended), speed: 4 };
    expect(tick(playing, 100).ms).toBe(400);
    const over = tick({ ...playing, ms: 9_900 }, 100);
    expect(over).toMatchObject({ ms: 10_000, playing: false, following: false });
    expect(toggle(over)).toMatchObject({ ms: 0, playing: true });
    expect(tick(ended, 100)).toBe(ended);
  });

  test("a live one stays at its end while it grows, until somebody goes back", () => {
    expect(grow(live, 11_000, true)).toMatchObject({ ms: 11_000, following: true });
    const back = seek(live, 3_000);
    expect(back).toMatchObject({ ms: 3_000, following: false });
    expect(grow(back, 11_000, true)).toMatchObject({ ms: 3_000, whole_ms: 11_000 });
    expect(seek(back, 9_500)).toMatchObject({ following: true });
    expect(tick({ ...toggle(back), ms: 9_990 }, 100)).toMatchObject({ following: true });
    expect(grow(live, 10_000, false)).toMatchObject({ ms: 10_000, following: false });
  });

  test("a moment stands in the address in seconds, and what is none is none", () => {
    expect(momentParam(12_449)).toBe("12.4");
    expect(momentOfParam("12.4")).toBe(12_400);
    expect(["", "x", "-1", "NaN", "Infinity"].map(momentOfParam)).toEqual(Array(5).fill(null));
    const began = "2026-01-01T00:00:10.000Z";
    expect(momentOfTime("2026-01-01T00:00:12.500Z", began)).toBe(2_500);
    expect(momentOfTime("2026-01-01T00:00:00.000Z", began)).toBe(0);
    expect(momentOfTime("", began)).toBeNull();
    expect([0, 12_449, 3_723_500].map(placeText)).toEqual(["0.0 s", "12.4 s", "1:02:03.5"]);
  });
});

const GREEN = [0, 255, 0] as const;
const { bytes, index } = makeRecording(4, 4)
  .event(0, { type: "note", level: "info", text: "x" })
  .chunk(100)
  .plain(120, GREEN)
  .screen(1_000, new Uint8Array(10))
  .event(1_100, { type: "note", level: "info", text: "y" })
  .screen(2_000, new Uint8Array(20))
  .chunk(20_000)
  .plain(20_010, GREEN)
  .done();

/** Reads of the recording, written down. */
function reader() {
  const asked: [number, number][] = [];
  const chunks = createChunks((offset, length) => {
    asked.push([offset, length]);
    return Promise.resolve(bytes.slice(offset, offset + length));
  }, new AbortController().signal);
  return { asked, chunks };
}
const [first, second] = index.chunks as [(typeof index.chunks)[0], (typeof index.chunks)[0]];

describe("what is read and decoded", () => {
  test("a chunk is read once, and read on from where it was when it has grown", async () => {
    const { asked, chunks } = reader();
    const half = Math.floor(first.length / 2);
    await chunks({ ...first, length: half });
    const screen = await chunks(first);
    expect(await chunks(first)).toBe(screen);
    expect(asked).toEqual([
      [first.offset, half],
      [first.offset + half, first.length - half],
    ]);
    // The first picture is in three pieces; events are left out.
    expect(screen.map(({ ms }) => ms)).toEqual([120, 120, 120, 1_000, 2_000]);
  });

  test("a read that fails is tried again by the next one", async () => {
    let failures = 1;
    const chunks = createChunks((offset, length) => {
      if (failures-- > 0) return Promise.reject(new Error("no answer"));
      return Promise.resolve(bytes.slice(offset, offset + length));
    }, new AbortController().signal);
    expect(chunks(second)).rejects.toThrow("no answer");
    expect(await chunks(second)).toHaveLength(3);
  });

  test("a moment is decoded on from an earlier one of its chunk, and anew from a later one", async () => {
    const screen = await reader().chunks(first);
    const plan = (drawn: { offset: number; pieces: number } | null, ms: number) =>
      planSeek(drawn, first.offset, screen, ms);
    expect(plan(null, 1_500)).toEqual({ anew: true, from: 0, to: 4 });
    expect(plan({ offset: first.offset, pieces: 4 }, 1_500)).toEqual({
      anew: false,
      from: 4,
      to: 4,
    });
    expect(plan({ offset: first.offset, pieces: 4 }, 2_000)).toEqual({
      anew: false,
      from: 4,
      to: 5,
    });
    expect(plan({ offset: first.offset, pieces: 5 }, 1_500)).toEqual({
      anew: true,
      from: 0,
      to: 4,
    });
    expect(plan({ offset: second.offset, pieces: 1 }, 1_500).anew).toBe(true);
  });

  test("before its first picture a chunk shows that picture, and nothing where it has none", async () => {
    const screen = await reader().chunks(first);
    expect(planSeek(null, first.offset, screen, 0).to).toBe(3);
    expect(planSeek(null, first.offset, [], 0).to).toBe(0);
    expect(piecesUpTo(screen, 119)).toBe(0);
  });

  test("the chunk of a moment is the one that plays then, at the beginning the first", () => {
    expect(chunkFor(index.chunks, 0)).toBe(first);
    expect(chunkFor(index.chunks, 19_999)).toBe(first);
    expect(chunkFor(index.chunks, 20_000)).toBe(second);
    expect(chunkFor([], 5)).toBeNull();
  });
});
