import { describe, expect, test } from "bun:test";
import {
  brotliCompressSync,
  deflateRawSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from "node:zlib";
import fc from "fast-check";
import { collectUpTo, createByteReader } from "#hub/fleet/archive/byte-reader.ts";
import { codingsOf, decodedBody, readMessage } from "#hub/fleet/archive/read-http.ts";
import { readWarc, type WarcLimits } from "#hub/fleet/archive/read-warc.ts";
import { ArchiveError } from "#shared/archive/archive-error.ts";
import { answerRecord, warcRecord } from "#test/support/models/made-warc.ts";

async function* piecesOf(bytes: Uint8Array | string, size = 7): AsyncGenerator<Uint8Array> {
  const whole = Buffer.from(bytes as string);
  for (let at = 0; at < whole.length; at += size) yield whole.subarray(at, at + size);
}

const textOf = async (chunks: AsyncIterable<Uint8Array>): Promise<string> =>
  Buffer.concat(await Array.fromAsync(chunks)).toString();

/** What was read, or the words of the refusal; any other error fails the test. */
async function orRefusal<T>(read: () => Promise<T>): Promise<T | string> {
  try {
    return await read();
  } catch (err) {
    if (!(err instanceof ArchiveError)) throw err;
    return err.message;
  }
}

describe("a stream is read piece by piece", () => {
  test("the mark is found however it is cut, and nothing of what follows is lost", async () => {
    for (const size of [1, 2, 3, 100]) {
      const reader = createByteReader(piecesOf("one\r\n\r\ntwo\r\n\r\n12345rest", size));
      expect(String(await reader.until("\r\n\r\n", 10, "a head"))).toBe("one");
      expect(String(await reader.peek(3))).toBe("two");
      expect(String(await reader.until("\r\n\r\n", 3, "a head"))).toBe("two");
      expect(await textOf(reader.take(5))).toBe("12345");
      expect(await textOf(reader.take(0))).toBe("");
      expect(await textOf(reader.take(100))).toBe("rest");
      expect(await reader.until("\r\n", 10, "a head")).toBeNull();
      expect((await reader.peek(4)).length).toBe(0);
    }
  });

  test("a head is as long as it may be and no longer, and does not end with the stream unless it may", async () => {
    const reader = (text: string) => createByteReader(piecesOf(text, 3));
    expect(String(await reader("12345\r\n").until("\r\n", 5, "a head"))).toBe("12345");
    await expect(reader("123456\r\n").until("\r\n", 5, "a head")).rejects.toThrow(
      "a head is longer than 5 bytes",
    );
    await expect(reader("x".repeat(99)).until("\r\n", 5, "a head")).rejects.toMatchObject({
      too_large: true,
    });
    await expect(reader("1234").until("\r\n", 5, "a head")).rejects.toThrow("ends within a head");
    expect(String(await reader("1234").until("\r\n", 5, "a head", true))).toBe("1234");
  });

  test("memory that the source uses again changes nothing, and closing ends the source", async () => {
    const shared = Buffer.alloc(4);
    let ended = false;
    const source = async function* () {
      try {
        for (const text of ["abcd", "efgh", "ijkl"]) {
          shared.write(text);
          yield shared;
        }
      } finally {
        ended = true;
      }
    };
    const reader = createByteReader(source());
    expect(String(await reader.peek(8))).toBe("abcdefgh");
    await reader.close();
    expect(ended).toBe(true);
  });

  test("what is collected has a bound that it may reach", async () => {
    expect((await collectUpTo(piecesOf("12345"), 5, "it")).length).toBe(5);
    await expect(collectUpTo(piecesOf("123456"), 5, "it")).rejects.toThrow("it is longer than 5");
  });
});

const decode = async (head: string, body: Uint8Array | string) => {
  const block = Buffer.concat([Buffer.from(`${head}\r\n\r\n`), Buffer.from(body as string)]);
  const message = await readMessage(piecesOf(block), 10_000);
  if (!message) throw new Error("no message");
  const codings = codingsOf(message.headers);
  return orRefusal(() => textOf(decodedBody(message, codings ?? [])));
};
const chunk = (body: Uint8Array | string) => {
  const bytes = Buffer.from(body as string);
  return Buffer.concat([
    Buffer.from(`${bytes.length.toString(16)}\r\n`),
    bytes,
    Buffer.from("\r\n"),
  ]);
};

describe("a message of HTTP is read as others wrote it (rules/documents#import-of-a-web-archive)", () => {
  test("headers are tokens with values, folded lines are one, and other lines are passed over", async () => {
    const head =
      "HTTP/1.1 200 OK\r\nA:  b c \r\nno header\r\n: nameless\r\nbad name: x\r\nFolded: a\r\n  b\r\n\tc\r\nEmpty:\r\nUtf: \u00fc\r\n\r\n";
    const message = await readMessage(piecesOf(`${head}body`), 1_000);
    expect(message?.start).toBe("HTTP/1.1 200 OK");
    expect(message?.headers).toEqual([
      { name: "A", value: "b c" },
      { name: "Folded", value: "a b c" },
      { name: "Empty", value: "" },
      { name: "Utf", value: "\u00fc" },
    ]);
    expect(message && (await textOf(message.body))).toBe("body");
    const latin = await readMessage(piecesOf(Buffer.from("x\r\nL: \u00fc\r\n\r\n", "latin1")), 99);
    expect(latin?.headers).toEqual([{ name: "L", value: "\u00fc" }]);
    expect(await readMessage(piecesOf(""), 10)).toBeNull();
    expect((await readMessage(piecesOf("HTTP/1.1 204 No\r\nA: b"), 99))?.headers).toHaveLength(1);
    await expect(readMessage(piecesOf("x".repeat(100)), 10)).rejects.toThrow("longer than 10");
  });

  test.each<[string, string[] | null]>([
    ["", []],
    ["identity", []],
    ["GZIP , br", ["gzip", "br"]],
    ["br, br, br", ["br", "br", "br"]],
    ["br, br, br, br", null],
    ["compress", null],
    ["constructor", null],
    ["__proto__", null],
    ["gzip, constructor", null],
  ])("the codings of %j are known or not", (value, expected) => {
    expect(codingsOf([{ name: "Content-Encoding", value }])).toEqual(expected);
  });

  const text = "hello ".repeat(100);
  test.each<[string, string, Uint8Array | string]>([
    ["gzip", "gzip", gzipSync(text)],
    ["x-gzip", "x-gzip", gzipSync(text)],
    ["br", "br", brotliCompressSync(text)],
    ["zstd", "zstd", zstdCompressSync(text)],
    ["deflate", "deflate", deflateSync(text)],
    ["deflate without its header", "deflate", deflateRawSync(text)],
    ["two codings", "gzip, br", brotliCompressSync(gzipSync(text))],
    ["gzip that is none", "gzip", text],
    ["a coding that nobody has", "constructor", text],
  ])("a body in %s is decoded", async (_what, coding, body) => {
    const head = `HTTP/1.1 200 OK\r\nContent-Encoding: ${coding}`;
    expect(await decode(head, body)).toBe(text);
    const parts = Buffer.concat([chunk(body), Buffer.from("0\r\n\r\n")]);
    expect(await decode(`${head}\r\nTransfer-Encoding: chunked`, parts)).toBe(text);
  });

  test.each<[string, string, Uint8Array | string, string]>([
    ["brotli that is none", "Content-Encoding: br", text, "should be br is not"],
    ["gzip that is cut off", "Content-Encoding: gzip", gzipSync(text).subarray(0, -9), "is not"],
    ["a chunk that is cut off", "Transfer-Encoding: chunked", "ff\r\nabc", "ends within a chunk"],
    ["a chunk without a length", "Transfer-Encoding: chunked", "1\r\na\r\nzz\r\n", "how long"],
    ["a length below zero", "Transfer-Encoding: chunked", "1\r\na\r\n-5\r\n", "how long"],
    ["an endless length", "Transfer-Encoding: chunked", `1\r\na\r\n${"f".repeat(5_000)}`, "longer"],
    [
      "a length beyond numbers",
      "Transfer-Encoding: chunked",
      `1\r\na\r\n${"f".repeat(99)}\r\n`,
      "how",
    ],
    [
      "a chunk longer than it says",
      "Transfer-Encoding: chunked",
      "1\r\nabcdefgh\r\n0\r\n\r\n",
      "end",
    ],
  ])("%s is refused", async (_what, header, body, why) => {
    expect(await decode(`HTTP/1.1 200 OK\r\n${header}`, body)).toContain(why);
  });

  test("a body that says it is chunked and is not stays as it is, and an empty one is empty", async () => {
    const head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked";
    expect(await decode(head, "<p>plain</p>")).toBe("<p>plain</p>");
    expect(await decode(head, "")).toBe("");
    expect(await decode("HTTP/1.1 200 OK\r\nContent-Encoding: br", "")).toBe("");
    expect(await decode(head, "3;name=value\r\nabc\r\n0\r\nTrailer: x\r\n\r\n")).toBe("abc");
  });
});

const LIMITS: WarcLimits = { records: 5, field_bytes: 1_000, onBytes: () => {} };
const readAll = (bytes: Uint8Array | string, size = 11, limits = LIMITS) =>
  orRefusal(async () => {
    const found: string[] = [];
    for await (const { type, field, block } of readWarc(piecesOf(bytes, size), limits))
      found.push(`${type} ${field("warc-target-uri") ?? "-"} ${await textOf(block)}`);
    return found;
  });

describe("records are read one after the other (rules/documents#import-of-a-web-archive)", () => {
  const one = warcRecord("resource", { "WARC-Target-URI": "urn:1" }, "first");
  const two = warcRecord("resource", { "WARC-Target-URI": "urn:2" }, "");
  const three = answerRecord("urn:3", "HTTP/1.1 200 OK", "body");
  const all = [
    "resource urn:1 first",
    "resource urn:2 ",
    "response urn:3 HTTP/1.1 200 OK\r\n\r\nbody",
  ];

  test("plain, compressed one by one, or all at once, in pieces of any size", async () => {
    const plain = Buffer.concat([one, two, three]);
    const packed = Buffer.concat([one, two, three].map((part) => gzipSync(part)));
    for (const size of [1, 5, 10_000])
      for (const bytes of [plain, packed, gzipSync(plain)])
        expect(await readAll(bytes, size)).toEqual(all);
    expect(await readAll(Buffer.concat([one, Buffer.from("\r\n".repeat(50))]))).toHaveLength(1);
    expect(await readAll("")).toEqual([]);
  });

  test("a block that nobody reads, or that is given up, is passed over", async () => {
    const types: string[] = [];
    for await (const { field, block } of readWarc(
      piecesOf(Buffer.concat([one, three, two])),
      LIMITS,
    )) {
      types.push(field("warc-target-uri") ?? "");
      if (types.length === 2) for await (const _first of block) break;
    }
    expect(types).toEqual(["urn:1", "urn:3", "urn:2"]);
  });

  test("names of fields have any case, the first of two counts, and a field may be folded", async () => {
    const text =
      "WARC/1.1\r\nwarc-TYPE: resource\r\nWARC-Type: request\r\nnonsense\r\nWarc-Target-URI: urn:\r\n x\r\nCONTENT-length: 1\r\n\r\nz\r\n\r\n";
    expect(await readAll(text)).toEqual(["resource urn: x z"]);
  });

  test.each<[string, Uint8Array | string, string]>([
    ["another version", "WARC/2.0\r\nContent-Length: 0\r\n\r\n", "no WARC file of version"],
    ["no record after a record", `${one}garbage\r\n\r\n`, "what follows record 1"],
    ["no length", "WARC/1.0\r\n\r\n", "does not say how long"],
    ["a negative length", "WARC/1.0\r\nContent-Length: -1\r\n\r\n", "does not say how long"],
    ["a length in words", "WARC/1.0\r\nContent-Length: 1e3\r\n\r\n", "does not say how long"],
    [
      "a length without bounds",
      `WARC/1.0\r\nContent-Length: ${"9".repeat(16)}\r\n\r\n`,
      "how long",
    ],
    [
      "a length beyond the end",
      "WARC/1.0\r\nContent-Length: 9999\r\n\r\nx",
      "ends within record 1",
    ],
    ["a head beyond its bound", `WARC/1.0\r\n${"x".repeat(2_000)}`, "longer than 1000"],
    ["a head that is cut off", "WARC/1.0\r\nContent-", "ends within the head"],
    ["too many records", Buffer.concat(Array(6).fill(two)), "more than 5 records"],
    ["damaged compression", gzipSync(one).subarray(0, -9), "damaged or cut off"],
  ])("%s is refused with its reason", async (_what, bytes, why) => {
    expect(await readAll(bytes)).toContain(why);
  });

  test("every byte that comes out of the compression is counted, and enough is enough", async () => {
    let bytes = 0;
    const plain = Buffer.concat([one, two, three]);
    const onBytes = (more: number) => {
      bytes += more;
    };
    await readAll(gzipSync(plain), 11, { ...LIMITS, onBytes });
    expect(bytes).toBe(plain.length);
    const bomb = gzipSync(warcRecord("resource", {}, Buffer.alloc(20_000_000)));
    let left = 1_000_000;
    const stop = (more: number) => {
      left -= more;
      if (left < 0) throw new ArchiveError("enough");
    };
    expect(await readAll(bomb, 1_000, { ...LIMITS, onBytes: stop })).toBe("enough");
    expect(left).toBeGreaterThan(-1_000_000);
  });

  test("damaged anywhere: records or a refusal, never another error", async () => {
    const plain = Buffer.concat([one, three]);
    await fc.assert(
      fc.asyncProperty(
        fc.nat(plain.length - 1),
        fc.nat(255),
        fc.boolean(),
        async (at, byte, is_packed) => {
          const bytes = Buffer.from(is_packed ? gzipSync(plain) : plain);
          bytes[at % bytes.length] = byte;
          const read = await readAll(bytes, 64);
          expect(typeof read === "string" || read.length <= 2).toBe(true);
        },
      ),
      { numRuns: 150 },
    );
  });
});
