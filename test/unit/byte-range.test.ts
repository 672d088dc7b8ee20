import { expect, test } from "bun:test";
import fc from "fast-check";
import { serveDemo } from "#hub/program/demo/site.ts";
import { byteRangeOf } from "#shared/kit/byte-range.ts";

test("one range is read as RFC 9110 says, with its ends cut to the body", () => {
  expect(byteRangeOf("bytes=0-0", 10)).toEqual({ start: 0, end: 0 });
  expect(byteRangeOf("bytes=4-", 10)).toEqual({ start: 4, end: 9 });
  expect(byteRangeOf(" BYTES=4-99", 10)).toEqual({ start: 4, end: 9 });
  expect(byteRangeOf("bytes=-3", 10)).toEqual({ start: 7, end: 9 });
  expect(byteRangeOf("bytes=-99", 10)).toEqual({ start: 0, end: 9 });
});

test("a range that begins behind the body is outside of it, and so is an empty one", () => {
  for (const header of [
    "bytes=10-",
    "bytes=10-20",
    "bytes=-0",
    `bytes=${"9".repeat(400)}-`,
    "bytes=5-4",
  ])
    expect([header, byteRangeOf(header, 10)]).toEqual([header, "outside"]);
  expect(byteRangeOf("bytes=0-", 0)).toBe("outside");
  expect(byteRangeOf("bytes=-1", 0)).toBe("outside");
});

test("nonsense, other units and several ranges ask for all of it", () => {
  for (const header of [null, undefined, "", "bytes=", "bytes=-", "bytes=0-1,3-4"])
    expect([header, byteRangeOf(header, 10)]).toEqual([header, null]);
  expect(byteRangeOf("lines=0-1", 10)).toBeNull();
  expect(byteRangeOf("bytes=a-b", 10)).toBeNull();
});

test("of a body whose size nobody knows a beginning can be read, and no end", () => {
  expect(byteRangeOf("bytes=4-9", null)).toEqual({ start: 4, end: 9 });
  expect(byteRangeOf("bytes=4-", null)).toEqual({ start: 4, end: Number.MAX_SAFE_INTEGER });
  expect(byteRangeOf("bytes=-9", null)).toBeNull();
});

test("what is read lies in the body, whatever the header says", () => {
  const header = fc.oneof(fc.string(), fc.stringMatching(/^bytes=\d{0,18}-\d{0,18}$/));
  fc.assert(
    fc.property(header, fc.nat(), (text, size) => {
      const range = byteRangeOf(text, size);
      if (range === null || range === "outside") return true;
      return range.start >= 0 && range.start <= range.end && range.end < size;
    }),
  );
});

test("the demo's media are sent in parts", async () => {
  const ask = (range: string) =>
    serveDemo(new Request("http://x/demo/tone.wav", { headers: { range } }));
  const all = await ask("")?.arrayBuffer();
  const end = ask("bytes=-4");
  expect(end?.status).toBe(206);
  expect(await end?.arrayBuffer()).toEqual(all?.slice(-4));
  const behind = ask(`bytes=${all?.byteLength}-`);
  expect(behind?.status).toBe(416);
  expect(behind?.headers.get("content-range")).toBe(`bytes */${all?.byteLength}`);
});
