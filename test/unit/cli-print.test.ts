import { describe, expect, test } from "bun:test";
import { assetTable, captureLine, parseOption } from "#hub/program/cli/fetch.ts";
import { fitText, formatTable, printable } from "#hub/program/cli/print.ts";
import { startProgress } from "#hub/program/cli/progress.ts";
import { systemClock } from "#shared/kit/clock.ts";
import type { Asset } from "#shared/protocol/schema/asset.ts";
import type { Job } from "#shared/protocol/schema/job.ts";

test("text of a page cannot steer the terminal", () => {
  expect(printable("a\u001b[2Jb\r\nc\u009b1m\u202ed")).toBe("a?[2Jb??c?1m?d");
});

test("fitText keeps what fits, cuts the end or the middle, and counts wide characters as two", () => {
  expect(fitText("abcdef", 6)).toBe("abcdef");
  expect(fitText("abcdefgh", 6)).toBe("abcde…");
  expect(fitText("abcdefgh", 5, true)).toBe("ab…gh");
  expect(Bun.stringWidth(fitText("日本語日本語", 7, true))).toBeLessThanOrEqual(7);
  expect(fitText("abc", 1)).toBe("…");
  expect(fitText("abc", 0)).toBe("");
});

const asset = (name: string, source_url: string): Asset => ({
  name,
  href: `/jobs/j/assets/${name}`,
  kind: "image",
  mime: "image/png",
  size: 2048,
  size_h: "2.0 KB",
  ext: "png",
  source_url,
  frame_url: null,
  page_url: "http://a.test/",
  sha256: "0",
  status: 200,
  from_cache: false,
  from_service_worker: false,
  partial: false,
  refetched: false,
  ranges: [],
});

describe("the asset table", () => {
  const assets = [
    asset("a.png", `http://a.test/${"x".repeat(300)}.png`),
    asset(`${"n".repeat(120)}.png`, "http://a.test/n.png"),
  ];
  for (const width of [40, 60, 80, 200])
    test(`fits ${width} columns, down to the 49 it needs`, () => {
      const lines = assetTable(assets, width).split("\n");
      expect(Math.max(...lines.map((l) => Bun.stringWidth(l)))).toBeLessThanOrEqual(
        Math.max(width, 49),
      );
      expect(lines[0]).toContain("NAME");
    });

  test("is whole when nobody said how wide it may be", () => {
    expect(assetTable(assets, null)).toContain(`${"x".repeat(300)}.png`);
  });

  test("says of a partial body that it is one", () => {
    expect(assetTable([{ ...asset("v.mp4", "http://a/v"), partial: true }], null)).toContain(
      "image (partial)",
    );
  });
});

test("numbers stand right, words left", () => {
  expect(
    formatTable(
      [{ title: "n" }, { title: "v", right: true }],
      [
        ["a", "1"],
        ["bb", "22"],
      ],
      null,
    ),
  ).toBe("N    V\na    1\nbb  22");
});

const capture = {
  seen: 10,
  captured: 8,
  partial: 1,
  lost: 1,
  skipped: 0,
  method: "durable" as const,
};

test("the capture line gives the ratio, what is missing and why", () => {
  const job = {
    capture: { ...capture, ratio: 0.8, reasons: { evicted: 1, aborted: 1 } },
  } as unknown as Job;
  expect(captureLine(job)).toBe(
    "captured 8 of 10 bodies (80 %), 1 partial, 1 lost (evicted 1, aborted 1)",
  );
});

test("a ratio below one never reads as 100 %", () => {
  const job = {
    capture: { ...capture, seen: 100_000, ratio: 0.99999, reasons: {} },
  } as unknown as Job;
  expect(captureLine(job)).toContain("(99.9 %)");
});

test("--option reads JSON where it is JSON and text elsewhere", () => {
  expect(parseOption("idle_seconds=0.5")).toEqual(["idle_seconds", 0.5]);
  expect(parseOption("scroll=true")).toEqual(["scroll", true]);
  expect(parseOption("referer=http://a.test/?b=c")).toEqual(["referer", "http://a.test/?b=c"]);
  expect(() => parseOption("scroll")).toThrow("--option");
});

test("progress is one rewritten line on a terminal and plain lines elsewhere", () => {
  const written = { live: "", plain: "" };
  const terminal = (kind: "live" | "plain") => ({
    out: () => {},
    err: (text: string) => {
      written[kind] += text;
    },
    width: null,
    live: kind === "live",
    liveWidth: 40,
  });
  for (const kind of ["live", "plain"] as const) {
    const progress = startProgress(terminal(kind), systemClock);
    progress.step("page", "opened \u001b[31m");
    progress.step("idle", "network is silent and this line is longer than the terminal");
    progress.end();
  }
  expect(written.live).not.toContain("\n");
  expect(written.live).toContain("\r\u001b[K");
  expect(written.plain.trimEnd().split("\n")).toHaveLength(2);
  expect(written.plain).not.toContain("\u001b");
});
