import { describe, expect, test } from "bun:test";
import { momentOf, momentText } from "#hub/ui/client/lib/moments.ts";
import {
  agoText,
  bytesText,
  countText,
  durationText,
  percentText,
  timeText,
} from "#hub/ui/client/lib/units.ts";

/** One formatter for each kind of figure (rules/web-app#what-is-known): the same thing reads the same everywhere. */

const S = 1_000;
const MIN = 60 * S;
const H = 60 * MIN;
const D = 24 * H;

describe("a duration", () => {
  test("is in the units that people say, two at most", () => {
    const said: [number, string][] = [
      [0, "0 ms"],
      [839.6, "840 ms"],
      [1 * S, "1.0 s"],
      [9_149, "9.1 s"],
      [12_300, "12 s"],
      [1 * MIN, "1 min"],
      [4 * MIN + 10 * S, "4 min 10 s"],
      [2 * H + 5 * MIN + 59 * S, "2 h 5 min"],
      [3 * D + 4 * H, "3 d 4 h"],
      [400 * D, "400 d"],
    ];
    for (const [ms, text] of said) expect({ ms, text: durationText(ms) }).toEqual({ ms, text });
  });

  test("never reads 1000 ms, 10.0 s, 60 s or 60 min", () => {
    const borders: [number, string][] = [
      [999.4, "999 ms"],
      [999.6, "1.0 s"],
      [9_949, "9.9 s"],
      [9_960, "10 s"],
      [59_400, "59 s"],
      [59_600, "1 min"],
      [59_999, "1 min"],
      [H - 1, "59 min 59 s"],
      [D - 1, "23 h 59 min"],
    ];
    for (const [ms, text] of borders) expect({ ms, text: durationText(ms) }).toEqual({ ms, text });
  });
});

test("sizes are in powers of a thousand, counts in groups of three, and what is not known is a dash", () => {
  expect([0, 999, 1_000, 388_600, 1_400_000].map(bytesText)).toEqual([
    "0 B",
    "999 B",
    "1.0 kB",
    "389 kB",
    "1.4 MB",
  ]);
  expect([0, 999, 1_000, 1_234_567, 1_234.5, -1_234].map(countText)).toEqual([
    "0",
    "999",
    "1,000",
    "1,234,567",
    "1,234.5",
    "-1,234",
  ]);
  expect([0, 0.004, 0.625, 1].map(percentText)).toEqual(["0 %", "0 %", "63 %", "100 %"]);
  for (const none of [null, undefined])
    expect([bytesText, countText, durationText, percentText].map((text) => text(none))).toEqual([
      "–",
      "–",
      "–",
      "–",
    ]);
});

describe("how long ago", () => {
  const now = Date.parse("2026-03-01T12:00:00Z");
  const at = (ms: number) => agoText(new Date(now - ms).toISOString(), now);
  test("is told in the larger unit alone, and what has just happened does not lie ahead", () => {
    expect([0, 1_999, -1_999, 2 * S, 59 * S + 999].map(at)).toEqual([
      "just now",
      "just now",
      "just now",
      "2 s ago",
      "59 s ago",
    ]);
    expect([MIN, 59 * MIN + 59 * S, 5 * H + 20 * MIN, 2 * D + 3 * H, -3 * MIN].map(at)).toEqual([
      "1 min ago",
      "59 min ago",
      "5 h ago",
      "2 d ago",
      "in 3 min",
    ]);
    expect([agoText(null, now), agoText("", now), timeText(null)]).toEqual(["–", "–", "–"]);
  });
});

describe("a moment in a field", () => {
  test("comes back as it was written, to the minute", () => {
    const text = momentText("2026-03-01T12:34:56.789Z");
    expect(text).toMatch(/^2026-0[23]-\d\dT\d\d:34$/);
    expect(momentText(momentOf(text))).toBe(text);
  });

  test("is nothing while it is no moment", () => {
    expect([momentText("soon"), momentText("")]).toEqual(["", ""]);
    expect([momentOf(""), momentOf("20266-01-01T00:00"), momentOf("x")]).toEqual(["", "", ""]);
    // While a year is typed it is one of long ago.
    expect(momentText("0020-01-01T00:00:00")).toStartWith("0020-01-01T");
  });
});
