import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync } from "node:fs";
import { createEntryCounter } from "#hub/fleet/registries/entry-counter.ts";
import { type Screened, screenArchive } from "#hub/fleet/registries/screen-archive.ts";
import { ArchiveError } from "#shared/archive/archive-error.ts";
import { MAX_PROFILE_ENTRIES, MAX_UNPACK_RATIO } from "#shared/protocol/limits.ts";
import { makeTar, makeTarGz, type TarEntry, tarHeader } from "#test/support/clients/tar.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";

/**
 * Archives that cost far more to take than to send. Judged by what was done with them, not by time: how many headers were
 * read, how much was unpacked, and that nothing was judged or stored of one that is refused.
 */

setDefaultTimeout(180_000);

const MIB = 1024 * 1024;
const LIMITS = { max_unpacked_bytes: 1024 * MIB, max_entries: MAX_PROFILE_ENTRIES };
const END = new Uint8Array(1_024);

async function* piecesOf(bytes: Uint8Array, size = 64 * 1024): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

interface Judged {
  /** Null when it was let through. */
  said: string | null;
  seen: Screened;
  /** Bytes that were let through, of all. */
  passed: number;
  ms: number;
}

async function screen(bytes: Uint8Array, piece?: number): Promise<Judged> {
  let seen: Screened = { unpacked: 0, headers: 0 };
  let passed = 0;
  const since = performance.now();
  const over = (said: string | null): Judged => {
    const ms = Math.round(performance.now() - since);
    return { said, seen, passed, ms };
  };
  try {
    const screened = screenArchive(piecesOf(bytes, piece), LIMITS, (all) => {
      seen = all;
    });
    for await (const chunk of screened) passed += chunk.length;
    return over(null);
  } catch (err) {
    if (!(err instanceof ArchiveError)) throw err;
    return over(err.message);
  }
}

/** Empty files with names of their own. */
function manyEntries(count: number): Uint8Array {
  const headers = Array.from({ length: count }, (_, i) => tarHeader(`Default/${i}`, 0));
  return Buffer.concat([...headers, END]);
}

/** The same header with this type. */
function ofType(header: Buffer, type: string): Buffer {
  const before = Number.parseInt(header.toString("latin1", 148, 154), 8);
  const sum = before - (header[156] ?? 0) + type.charCodeAt(0);
  header.write(type, 156);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return header;
}

/** A tar.gz of one file of zeros, without holding it. */
async function bomb(bytes: number): Promise<Uint8Array> {
  const { createGzip } = await import("node:zlib");
  const gzip = createGzip({ level: 9 });
  const parts: Uint8Array[] = [];
  const packed = (async () => {
    for await (const part of gzip) parts.push(part as Uint8Array);
  })();
  gzip.write(tarHeader("Default/History", bytes));
  const zeros = new Uint8Array(MIB);
  for (let left = bytes; left > 0; left -= MIB)
    await new Promise((resolve) => gzip.write(zeros, resolve));
  gzip.end(END);
  await packed;
  return Buffer.concat(parts);
}

describe("archives that are refused by their headers", () => {
  test("a tar and a tar.gz of 250,000 entries are refused at the first that is too many", async () => {
    const tar = manyEntries(250_000);
    for (const archive of [tar, Bun.gzipSync(Buffer.from(tar), { level: 1 })]) {
      const { said, seen, ms } = await screen(archive);
      expect(said).toBe("the archive has more than 200000 entries");
      expect(seen.headers).toBe(MAX_PROFILE_ENTRIES + 1);
      console.log(`250,000 entries in ${archive.length} bytes: refused in ${ms} ms`);
    }
  });

  test("headers that say more of an entry that never comes are bounded as well", () => {
    const counter = createEntryCounter({ ...LIMITS, max_entries: 10 });
    const record = ofType(tarHeader("x", 0), "L");
    const push = () => {
      for (let i = 0; i < 100; i += 1) counter.push(record);
    };
    expect(push).toThrow("the archive has more headers than 10 entries can have");
    expect(counter.headers).toBe(31);
  });

  test("a small archive that unpacks to gigabytes is refused when it has unpacked to some of them", async () => {
    const archive = await bomb(600 * MIB);
    expect(archive.length).toBeLessThan(MIB);
    const { said, seen, ms } = await screen(archive);
    expect(said).toMatch(/^the archive unpacks to 2[0-9]+.* and more, over 400 times what it has$/);
    expect(seen.unpacked).toBeLessThan(MAX_UNPACK_RATIO.above_bytes + MIB);
    console.log(`600 MB of zeros in ${archive.length} bytes: refused in ${ms} ms`);
  });
});

describe("archives that are taken", () => {
  const entries: TarEntry[] = [
    ["Default/Preferences", "{}"],
    [`Default/${"long".repeat(40)}`, "x".repeat(700)],
    { name: "Default/dir/", type: "directory" },
    { name: "Default/empty", size: 0 },
    // Its size stands in a record, for the header has none of it.
    ["Default/ünïcode", "y".repeat(513)],
  ];

  test("every byte is let through as it came, in pieces of any size, and each header counts once", async () => {
    const tar = await makeTar(entries);
    for (const archive of [tar, await makeTarGz(entries)])
      for (const piece of [1, 3, 511, 512, 513, 64 * 1024]) {
        const { said, seen, passed } = await screen(archive, piece);
        expect({ said, passed }).toEqual({ said: null, passed: archive.length });
        // Two of them have a record before them.
        expect(seen).toEqual({ headers: entries.length + 2, unpacked: tar.length });
      }
  });

  test("a size in a record is the entry's, whatever its header says", () => {
    const counter = createEntryCounter(LIMITS);
    const body = Buffer.alloc(512, "16 size=1048576\n", "latin1").subarray(0, 16);
    const record = ofType(tarHeader("p", body.length), "x");
    counter.push(record);
    counter.push(Buffer.concat([body, Buffer.alloc(512 - body.length)]));
    counter.push(tarHeader("Default/a", 0));
    // Looks like headers, and is the body.
    for (let i = 0; i < 2_048; i += 1) counter.push(tarHeader("Default/b", 0));
    expect(counter.headers).toBe(2);
    counter.push(tarHeader("Default/c", 0));
    expect(counter.headers).toBe(3);
  });

  test("what is not a tar reaches the reader, which says so", async () => {
    for (const bytes of [
      Buffer.alloc(100_000, "no tar"),
      Buffer.concat([Buffer.from([0x1f, 0x8b]), Buffer.alloc(100_000, "no gzip")]),
      Buffer.from(Bun.gzipSync(Buffer.alloc(100_000, "no tar"))).subarray(0, 100),
      new Uint8Array([0x1f]),
    ])
      expect(await screen(bytes)).toMatchObject({ said: null, passed: bytes.length });
  });
});

describe("POST /profiles/{name}", () => {
  let hub: TestHub;
  beforeAll(async () => {
    hub = await startTestHub();
  });
  afterAll(() => hub.close());

  const upload = (body: Uint8Array) =>
    fetch(`${hub.url}/profiles/attack`, {
      method: "POST",
      headers: { "content-type": "application/gzip" },
      body: Buffer.from(body),
    });

  test("an archive of too many entries is answered 413, and nothing of it is stored", async () => {
    const response = await upload(Bun.gzipSync(Buffer.from(manyEntries(250_000)), { level: 1 }));
    const body = await response.text();
    expect([response.status, body]).toEqual([
      413,
      JSON.stringify({ detail: "the archive has more than 200000 entries" }),
    ]);
    expect((await fetch(`${hub.url}/profiles/attack`)).status).toBe(404);
    const files = readdirSync(hub.data_dir, { recursive: true, withFileTypes: true });
    const incoming = files.filter((f) => f.isFile() && f.parentPath.includes("incoming"));
    expect(incoming.map(({ name }) => name)).toEqual([]);
  });

  test("links, devices, ways out, depth, long names and names twice are answered 422 with the entry", async () => {
    const refused: [TarEntry[], string][] = [
      [[{ name: "Default/l", type: "symlink", linkname: "/etc/passwd" }], "a symbolic link"],
      [[{ name: "Default/l", type: "link", linkname: "/etc/passwd" }], "a hard link"],
      [[{ name: "Default/d", type: "block-device" }], "a device"],
      [[{ name: "Default/d", type: "character-device" }], "a device"],
      [[{ name: "Default/p", type: "fifo" }], "a named pipe"],
      [[["../Default/x", ""]], '".." in its name'],
      [[["/Default/x", ""]], "an absolute name"],
      [[[`Default/${"d/".repeat(64)}x`, ""]], "deeper than 64 directories"],
      [[[`Default/${"n".repeat(256)}`, ""]], "longer than 255 bytes"],
      [
        [
          ["Default/Cookies", "1"],
          ["Default/Cookies", "2"],
        ],
        "in the archive twice",
      ],
    ];
    for (const [entries, words] of refused) {
      const response = await upload(await makeTarGz([["Default/Preferences", "{}"], ...entries]));
      expect(response.status).toBe(422);
      expect(JSON.stringify(await response.json())).toContain(words.replaceAll('"', '\\"'));
    }
  });
});
