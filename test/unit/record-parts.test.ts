import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { assetKind, createNamer, resolveMime } from "#shared/archive/asset-names.ts";
import { systemClock } from "#shared/kit/clock.ts";
import { isSafeName } from "#shared/protocol/names.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import { seededBytes, sha256 } from "#test/support/servers/site/bytes.ts";
import { createCoverage } from "#worker/browser/record/coverage.ts";
import { type BodySource, createLedger } from "#worker/browser/record/ledger.ts";
import {
  addRange,
  coveredBytes,
  isWhole,
  parseContentRange,
  withoutVolatileParams,
} from "#worker/browser/record/ranges.ts";
import { createSpool, SpoolFullError } from "#worker/browser/record/spool.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "flotilla-spool-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

describe("ranges", () => {
  test("the union of ranges is sorted, disjoint and covers exactly what was added", () => {
    const range = fc
      .tuple(fc.nat(60), fc.nat(20))
      .map(([start, length]) => ({ start, end: start + length }));
    fc.assert(
      fc.property(fc.array(range, { maxLength: 20 }), (added) => {
        const union = added.reduce(addRange, [] as { start: number; end: number }[]);
        const bytes = new Set(
          added.flatMap(({ start, end }) =>
            Array.from({ length: end - start + 1 }, (_, i) => start + i),
          ),
        );
        expect(coveredBytes(union)).toBe(bytes.size);
        for (let i = 1; i < union.length; i += 1)
          expect(union[i]?.start ?? 0).toBeGreaterThan((union[i - 1]?.end ?? 0) + 1);
      }),
    );
  });

  test("only the whole of a known total is whole", () => {
    expect(isWhole([{ start: 0, end: 9 }], 10)).toBe(true);
    expect(isWhole([{ start: 0, end: 9 }], 11)).toBe(false);
    expect(isWhole([{ start: 1, end: 10 }], 10)).toBe(false);
    expect(isWhole([{ start: 0, end: 9 }], null)).toBe(false);
    expect(isWhole([], 0)).toBe(false);
  });

  test.each([
    ["bytes 0-9/10", { start: 0, end: 9, total: 10 }],
    ["bytes 5-9/*", { start: 5, end: 9, total: null }],
    ["bytes 9-5/10", null],
    ["bytes 0-10/10", null],
    ["bytes */10", null],
    [undefined, null],
  ])("Content-Range %p", (value, expected) => {
    expect(parseContentRange(value)).toEqual(expected);
  });

  test("the parameters in which players write the range do not make another file", () => {
    expect(withoutVolatileParams("http://a/v?id=1&range=0-99&rn=4")).toBe("http://a/v?id=1");
    expect(withoutVolatileParams("http://a/v?id=%20x")).toBe("http://a/v?id=%20x");
  });
});

describe("coverage", () => {
  test("pieces in any order, overlapping, make the file", async () => {
    const bytes = seededBytes(1, 10_000);
    const coverage = createCoverage(
      createSpool({ dir, max_bytes: 1e9, clock: systemClock }),
      bytes.length,
    );
    for (const [start, end] of [
      [6_000, 10_000],
      [0, 3_000],
      [2_500, 6_500],
    ] as const)
      coverage.add(bytes.subarray(start, end), start);
    const result = await coverage.finish();
    expect(result).toMatchObject({ whole: true, body: { size: 10_000, sha256: sha256(bytes) } });
    expect(readFileSync(result?.body.path ?? "")).toEqual(Buffer.from(bytes));
  });

  test("what is missing is never filled: the held ranges follow each other", async () => {
    const bytes = seededBytes(2, 1_000);
    const coverage = createCoverage(
      createSpool({ dir, max_bytes: 1e9, clock: systemClock }),
      1_000,
    );
    coverage.add(bytes.subarray(900), 900);
    coverage.add(bytes.subarray(100, 200), 100);
    const result = await coverage.finish();
    expect(result).toMatchObject({
      whole: false,
      ranges: [
        { start: 100, end: 199 },
        { start: 900, end: 999 },
      ],
      body: {
        size: 200,
        sha256: sha256(Buffer.concat([bytes.subarray(100, 200), bytes.subarray(900)])),
      },
    });
    expect(readdirSync(dir)).toEqual([]);
  });
});

describe("spool", () => {
  const openSpool = (max_bytes = 1e9) => createSpool({ dir, max_bytes, clock: createFakeClock() });
  const sha256 = (bytes: Uint8Array) => new Bun.CryptoHasher("sha256").update(bytes).digest("hex");

  test("refuses what is over its limit, and takes it again when uploads have made room", async () => {
    const clock = createFakeClock();
    const spool = createSpool({ dir, max_bytes: 200_000, clock });
    const first = spool.open();
    first.write(seededBytes(1, 180_000));
    const body = first.finish();
    expect(() => spool.open().write(seededBytes(2, 70_000))).toThrow(SpoolFullError);
    rmSync(body?.path ?? "");
    const second = spool.open();
    await clock.advance(1_000);
    second.write(seededBytes(2, 70_000));
    expect(second.finish()?.size).toBe(70_000);
  });

  test("a small body stays in memory, also when the buffer it came in is used again", () => {
    const file = openSpool().open();
    const buffer = seededBytes(1, 10_000);
    const whole = Buffer.concat([buffer, seededBytes(2, 10_000)]);
    file.write(buffer);
    buffer.set(seededBytes(2, 10_000));
    file.write(buffer);
    const body = file.finish();
    expect(readdirSync(dir)).toEqual([]);
    expect(body).toMatchObject({ path: "", size: 20_000, sha256: sha256(whole) });
    expect(Buffer.from(body?.bytes ?? [])).toEqual(whole);
  });

  test("a body that grows beyond 64 KB goes to its file from its first byte on", () => {
    const file = openSpool().open();
    const chunks = Array.from({ length: 7 }, (_, i) => seededBytes(i, 10_000));
    for (const chunk of chunks) file.write(chunk);
    const body = file.finish();
    expect(body?.bytes).toBeUndefined();
    expect(readFileSync(body?.path ?? "")).toEqual(Buffer.concat(chunks));
    expect(body?.sha256).toBe(sha256(Buffer.concat(chunks)));
  });

  test("a run keeps 4 MB of small bodies in memory, and more again when some are stored", () => {
    const spool = openSpool();
    const write = (n: number) => {
      const file = spool.open();
      file.write(seededBytes(n, 60_000));
      return file.finish();
    };
    const bodies = Array.from({ length: 80 }, (_, i) => write(i));
    const held = bodies.filter((body) => body?.bytes);
    expect(held.length).toBe(Math.floor((4 * 1024 * 1024) / 60_000));
    expect(readdirSync(dir)).toHaveLength(80 - held.length);
    held[0]?.free?.();
    expect(write(99)?.bytes).toBeDefined();
    expect(write(100)?.bytes).toBeUndefined();
  });
});

describe("asset names", () => {
  test.each([
    ["http://a/dir/photo.JPG?x=1", "image/jpeg", "photo.JPG", "jpg"],
    ["http://a/", "text/html", "index.html", "html"],
    ["http://a/dir/", "text/html", "index.html", "html"],
    ["http://a/api/items", "application/json", "items.json", "json"],
    ["http://a/caf%C3%A9%2Fx.png", "image/png", "café_x.png", "png"],
    ["http://a/%E0%A4%A.png", "image/png", "_E0_A4_A.png", "png"],
    ["http://a/..%2f..%2fetc%2fpasswd", "text/plain", "_.._etc_passwd.txt", "txt"],
    ["http://a/con.txt", "text/plain", "_con.txt", "txt"],
    ["blob:http://a/1-2", "application/pdf", "download.pdf", "pdf"],
  ])("%s as %s is called %s", (url, mime, name, ext) => {
    expect(createNamer().take(url, mime)).toMatchObject({ name, ext });
  });

  test("are unique whatever their letter case, and keep their extension", () => {
    const namer = createNamer();
    const names = ["a.png", "A.png", "a.PNG", "a.png"].map(
      (n) => namer.take(`http://x/${n}`, "image/png").name,
    );
    expect(names).toEqual(["a.png", "A-2.png", "a-3.PNG", "a-4.png"]);
  });

  test("are safe for any URL", () => {
    const namer = createNamer();
    const seen = new Set<string>();
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 300 }), fc.boolean(), (raw, suggested) => {
        const url = `http://a/${suggested ? "x" : raw.toWellFormed().replace(/[?#]/g, "")}`;
        const { name } = namer.take(url, "image/png", suggested ? raw : undefined);
        expect(isSafeName(name)).toBe(true);
        expect(seen.has(name.toLowerCase())).toBe(false);
        seen.add(name.toLowerCase());
      }),
      { numRuns: 500 },
    );
  });

  test("the extension tells the type where the server does not", () => {
    expect(resolveMime("application/octet-stream", "a.mp4")).toBe("video/mp4");
    expect(resolveMime("", "a")).toBe("application/octet-stream");
    expect(resolveMime("Text/HTML; charset=x", "a.bin")).toBe("text/html");
    expect(assetKind("application/ogg")).toBe("audio");
    expect(assetKind("video/mp4")).toBe("video");
    expect(assetKind("text/html")).toBe("other");
  });
});

describe("ledger", () => {
  const source = (url: string, more: Partial<BodySource> = {}): BodySource => ({
    url,
    page_url: "http://a/",
    frame_url: null,
    mime: "text/plain",
    status: 200,
    from_cache: false,
    from_service_worker: false,
    paired: false,
    ...more,
  });
  const body = (sha: string) => ({ path: `/x/${sha}`, size: 10, sha256: sha });
  const open = () => {
    const stored: string[] = [];
    const dropped: string[] = [];
    const ledger = createLedger({
      store: (meta) => stored.push(meta.name),
      drop: ({ path }) => dropped.push(path),
      onLoss: () => {},
    });
    return { ledger, stored, dropped };
  };

  test("seen is captured, partial and lost, and every loss has its reason", () => {
    const { ledger } = open();
    ledger.captured(source("http://a/1"), body("1"));
    ledger.captured(source("http://a/2"), body("2"));
    ledger.partial(source("http://a/3"), body("3"), [{ start: 0, end: 9 }], "timeout");
    ledger.lost(source("http://a/4"), "evicted");
    ledger.skipped(body("5"));
    expect(ledger.report("durable", ["2"])).toEqual({
      seen: 4,
      captured: 2,
      partial: 1,
      lost: 1,
      skipped: 1,
      ratio: 0.5,
      reasons: { timeout: 1, evicted: 1 },
      method: "durable",
    });
    expect(ledger.report("durable", ["2.txt", "3.txt"])).toMatchObject({
      captured: 1,
      partial: 0,
      lost: 3,
      reasons: { upload_failed: 2, evicted: 1 },
    });
  });

  test("one body seen twice is one asset; another body of the same URL is another", () => {
    const { ledger, stored, dropped } = open();
    ledger.captured(source("http://a/1"), body("1"));
    ledger.captured(source("http://a/1"), body("1"));
    ledger.captured(source("http://a/1"), body("other"));
    expect(stored).toEqual(["1.txt", "1-2.txt"]);
    expect(dropped).toEqual(["/x/1"]);
  });

  test("the unreadable half of a pair is no loss when the other was kept, and one otherwise", () => {
    const { ledger } = open();
    ledger.lost(source("http://a/1", { paired: true }), "evicted");
    expect(ledger.report("durable", [])).toMatchObject({ seen: 1, lost: 1 });
    ledger.captured(source("http://a/1"), body("1"));
    expect(ledger.report("durable", [])).toMatchObject({ seen: 1, captured: 1, lost: 0 });
  });
});
