import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtemp, open, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crc32, deflateRawSync } from "node:zlib";
import { makeZip } from "client-zip";
import { readZip } from "#shared/archive/read-zip.ts";

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "flotilla-zip-"));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

const LIMITS = { entries: 10, directory_bytes: 10_000 };

/** The files of a zip with these bytes, by name. */
async function filesOf(zip: Uint8Array): Promise<Record<string, string>> {
  const path = join(dir, "a.zip");
  await writeFile(path, zip);
  const file = await open(path);
  try {
    const found: Record<string, string> = {};
    for (const { name, read } of await readZip(file, LIMITS))
      found[name] = Buffer.concat(await Array.fromAsync(read())).toString();
    return found;
  } finally {
    await file.close();
  }
}

interface Shape {
  body?: string;
  /** What the directory says in place of what is true. */
  size?: number;
  crc?: number;
  flags?: number;
  method?: number;
  offset?: number;
  entries?: number;
  /** Numbers of 64 bits in an extra field. */
  zip64?: boolean;
}

/** A zip of one deflated file. */
function zipOf({
  body = "hello ".repeat(100),
  flags = 0,
  method = 8,
  offset = 0,
  ...of
}: Shape = {}): Buffer {
  const packed = deflateRawSync(body);
  const size = of.size ?? body.length;
  const crc = of.crc ?? crc32(body);
  const local = Buffer.alloc(30);
  local.writeUInt32LE(0x04034b50, 0);
  const extra = of.zip64 ? Buffer.alloc(4 + 24) : Buffer.alloc(0);
  if (of.zip64) {
    extra.writeUInt16LE(1, 0);
    extra.writeUInt16LE(24, 2);
    for (const [n, value] of [size, packed.length, offset].entries())
      extra.writeBigUInt64LE(BigInt(value), 4 + 8 * n);
  }
  const entry = Buffer.alloc(46);
  entry.writeUInt32LE(0x02014b50, 0);
  entry.writeUInt16LE(flags, 8);
  entry.writeUInt16LE(method, 10);
  entry.writeUInt32LE(crc, 16);
  const long = of.zip64 ? 0xffffffff : null;
  entry.writeUInt32LE(long ?? packed.length, 20);
  entry.writeUInt32LE(long ?? size, 24);
  entry.writeUInt16LE(1, 28);
  entry.writeUInt16LE(extra.length, 30);
  entry.writeUInt32LE(long ?? offset, 42);
  const directory = Buffer.concat([entry, Buffer.from("f"), extra]);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(of.entries ?? 1, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(local.length + packed.length, 16);
  return Buffer.concat([local, packed, directory, end]);
}

test("a zip is read by its directory, stored and deflated, with numbers of 32 and of 64 bits", async () => {
  const stored = new Response(
    makeZip([
      { name: "a/b.txt", input: "one" },
      { name: "c", input: "" },
    ]),
  );
  expect(await filesOf(await stored.bytes())).toEqual({ "a/b.txt": "one", c: "" });
  const body = "hello ".repeat(100);
  expect(await filesOf(zipOf({ body }))).toEqual({ f: body });
  expect(await filesOf(zipOf({ body, zip64: true }))).toEqual({ f: body });
});

test.each<[string, Shape, string]>([
  ["is larger than it says", { body: "0".repeat(5_000_000), size: 10 }, "not what the directory"],
  ["is smaller than it says", { size: 1_000_000 }, "not what the directory"],
  ["has another checksum", { crc: 1 }, "not what the directory"],
  ["is encrypted", { flags: 1 }, "is encrypted"],
  ["is compressed in an unknown way", { method: 99 }, "is compressed in a way"],
  ["lies outside of the file", { offset: 1_000_000 }, "ends too early"],
  ["lies elsewhere", { offset: 3 }, "is not where it should be"],
  ["has no entry in the directory", { entries: 2 }, "the directory of the zip is damaged"],
  ["is one of too many", { entries: 11 }, "more than 10 entries"],
])("a zip whose file %s is refused", async (_what, shape, why) => {
  await expect(filesOf(zipOf(shape))).rejects.toThrow(why);
});

test("a file that is no zip, or is cut off, is refused", async () => {
  await expect(filesOf(Buffer.alloc(0))).rejects.toThrow("the zip has no directory");
  await expect(filesOf(zipOf().subarray(0, -5))).rejects.toThrow("the zip has no directory");
  await expect(filesOf(zipOf().subarray(200))).rejects.toThrow();
});
