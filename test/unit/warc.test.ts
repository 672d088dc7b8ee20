import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { CDXIndexer, getSurt, WARCParser, type WARCRecord, WARCSerializer } from "warcio";
import { cdxjLine, surtOf } from "#hub/fleet/archive/cdxj.ts";
import type { ReadableAsset } from "#hub/fleet/archive/entry-body.ts";
import { harElements } from "#hub/fleet/archive/har-elements.ts";
import { createHarRecords, type Planned } from "#hub/fleet/archive/har-records.ts";
import { writeRecord } from "#hub/fleet/archive/warc-record.ts";
import { writeWarc } from "#hub/fleet/archive/write-warc.ts";
import type { HarEntry } from "#shared/protocol/schema/har.ts";

/** A digest is of the headers as they were written. */
const WRITTEN = { keepHeadersCase: true };
const hex = (body: string) => createHash("sha256").update(body).digest("hex");

const assetOf = (name: string, body: string, more: Partial<ReadableAsset> = {}): ReadableAsset => ({
  name,
  kind: "other",
  mime: "text/html",
  size: Buffer.byteLength(body),
  sha256: hex(body),
  source_url: `https://site.test/${name}`,
  partial: false,
  refetched: false,
  ranges: [],
  read: async () => chunks(Buffer.from(body)),
  ...more,
});
async function* chunks(...all: Uint8Array[]) {
  yield* all;
}
async function* listed(all: Planned[]) {
  yield* all;
}

interface Shape {
  url?: string;
  method?: string;
  status?: number;
  headers?: Record<string, string>;
  /** Type of the request's body. */
  asked?: string;
  asset?: string;
  version?: string;
  more?: Record<string, unknown>;
  response?: Record<string, unknown>;
}
const entryOf = ({ url = "https://site.test/", method = "GET", ...of }: Shape = {}): HarEntry => ({
  startedDateTime: "2026-11-20T10:00:00.123Z",
  time: 1,
  request: {
    method,
    url,
    httpVersion: of.version ?? "h2",
    headers: [
      { name: ":authority", value: "site.test" },
      { name: "cookie", value: "***" },
      ...(of.asked === undefined ? [] : [{ name: "content-type", value: of.asked }]),
    ],
  },
  response: {
    status: of.status ?? 200,
    statusText: "",
    httpVersion: of.version ?? "h2",
    headers: Object.entries(of.headers ?? { "content-type": "text/html; charset=utf-8" }).map(
      ([name, value]) => ({ name, value }),
    ),
    content: {
      size: of.asset === undefined ? 0 : 9,
      mimeType: "text/html",
      ...(of.asset === undefined ? {} : { _asset: of.asset }),
    },
    redirectURL: "",
    bodySize: 3,
    ...of.response,
  },
  timings: { blocked: 0, dns: 0, connect: 0, ssl: 0, send: 0, wait: 0, receive: 0 },
  ...of.more,
});

const makeRecords = () =>
  createHarRecords({ seed: "job", warcinfo_id: "<urn:uuid:1>", date: "2026-11-20T00:00:00.000Z" });

/** The archive as warcio reads it, and what we wrote into its index. */
async function archive(planned: Planned[]) {
  const index: string[] = [];
  const parts: Uint8Array[] = [];
  for await (const chunk of writeWarc(listed(planned), (indexed, place) =>
    index.push(cdxjLine(indexed, { ...place, filename: "data.warc.gz" })),
  ))
    parts.push(chunk);
  const bytes = Buffer.concat(parts);
  const records: { record: WARCRecord; text: string }[] = [];
  for await (const record of WARCParser.iterRecords(chunks(bytes))) {
    const text = new TextDecoder().decode(await record.readFully(false));
    records.push({ record, text });
  }
  return { bytes, index, records, types: records.map(({ record }) => record.warcType) };
}

const headersOf = (record: WARCRecord | undefined): Record<string, string> =>
  Object.fromEntries([...(record?.httpHeaders?.headers ?? [])] as [string, string][]);

test("an answer and its request are a response and a request that warcio reads, with headers that agree with the stored body (rules/documents#web-archive)", async () => {
  const body = "<p>hi</p>".repeat(100);
  const entry = entryOf({
    asset: "index.html",
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-encoding": "br",
      "Transfer-Encoding": "chunked",
      "content-length": "17",
      "set-cookie": "***",
      "x-name": "ü\r\nx-evil: 1",
    },
    more: { serverIPAddress: "192.0.2.7", _resourceType: "document" },
  });
  const { records, types, index } = await archive(
    makeRecords().ofEntry(entry, assetOf("index.html", body)),
  );
  expect(types).toEqual(["response", "request"]);
  const [response, request] = records;
  expect(response?.text).toBe(body);
  expect(response?.record.httpHeaders?.statusline).toBe("HTTP/1.1 200 OK");
  expect(headersOf(response?.record)).toEqual({
    "content-type": "text/html; charset=utf-8",
    "x-orig-content-encoding": "br",
    "x-orig-transfer-encoding": "chunked",
    "content-length": String(body.length),
    "x-orig-content-length": "17",
    "set-cookie": "***",
    "x-name": "%C3%BC x-evil: 1",
  });
  const field = (name: string) => response?.record.warcHeader(name);
  expect(field("WARC-IP-Address")).toBe("192.0.2.7");
  expect(field("WARC-Protocol")).toBe("h2");
  expect(field("WARC-Resource-Type")).toBe("document");
  expect(field("WARC-Date")).toBe("2026-11-20T10:00:00.123Z");
  expect(field("WARC-Payload-Digest")).toBe(`sha256:${hex(body)}`);
  expect(request?.record.httpHeaders?.statusline).toBe("GET / HTTP/1.1");
  expect(headersOf(request?.record)).toEqual({ host: "site.test", cookie: "***" });
  expect(request?.record.warcHeader("WARC-Concurrent-To")).toBe(field("WARC-Record-ID"));
  expect(index).toHaveLength(1);
});

test("every digest is the one that warcio computes, of small bodies and of large ones", async () => {
  const large = "0123456789abcdef".repeat(40_000);
  const har = makeRecords();
  const { bytes } = await archive([
    ...har.ofEntry(entryOf({ asset: "a" }), assetOf("a", "small")),
    ...har.ofEntry(entryOf({ asset: "b" }), assetOf("b", large)),
    ...har.ofEntry(entryOf({ asset: "c" }), assetOf("c", `${large}!`, { mime: "video/mp4" })),
  ]);
  let count = 0;
  for await (const record of WARCParser.iterRecords(chunks(bytes), WRITTEN)) {
    const block = record.warcBlockDigest;
    const payload = record.warcPayloadDigest;
    const again = new WARCSerializer(record, { digest: { algo: "sha-256", prefix: "sha256:" } });
    await again.digestRecord({ recompute: true });
    expect(record.warcBlockDigest).toBe(block);
    if (record.warcType === "response") expect(record.warcPayloadDigest).toBe(payload);
    count += 1;
  }
  expect(count).toBe(6);
});

test("a body that is too large to be read twice is read once, with the digest of its payload (rules/documents#web-archive)", async () => {
  const large = "0123456789abcdef".repeat(40_000);
  let reads = 0;
  const asset = assetOf("v.mp4", large, {
    read: async () => {
      reads += 1;
      return chunks(Buffer.from(large));
    },
  });
  const [planned] = makeRecords().ofEntry(entryOf({ asset: "v.mp4" }), asset);
  if (!planned) throw new Error("no record");
  const bytes = Buffer.concat(await Array.fromAsync(writeRecord(planned.record, 500_000)));
  const record = await WARCParser.parse(chunks(bytes));
  expect(reads).toBe(1);
  expect(record?.warcBlockDigest).toBeFalsy();
  expect(record?.warcPayloadDigest).toBe(`sha256:${hex(large)}`);
  expect(await record?.contentText()).toBe(large);
});

test("a payload that the archive has already is a revisit, and an empty one is not (rules/documents#web-archive)", async () => {
  const har = makeRecords();
  const same = assetOf("a.js", "let a;");
  const { records, types } = await archive([
    ...har.ofEntry(entryOf({ asset: "a.js" }), same),
    ...har.ofEntry(entryOf({ url: "https://cdn.test/b.js", asset: "b.js" }), same),
    ...har.ofEntry(entryOf({ status: 204 }), undefined),
    ...har.ofEntry(entryOf({ status: 204 }), undefined),
  ]);
  expect(types.filter((type) => type !== "request")).toEqual([
    "response",
    "revisit",
    "response",
    "response",
  ]);
  const revisit = records[2]?.record;
  expect(records[2]?.text).toBe("");
  expect(revisit?.warcPayloadDigest).toBe(`sha256:${hex("let a;")}`);
  expect(revisit?.warcRefersToTargetURI).toBe("https://site.test/");
  expect(revisit?.warcHeader("WARC-Profile")).toBe(
    "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest",
  );
});

test("ranges that were joined into a file are one 200, and a metadata record tells of each (rules/documents#web-archive)", async () => {
  const har = makeRecords();
  const video = assetOf("v.mp4", "0123456789", { mime: "video/mp4", kind: "video" });
  const range = (value: string) =>
    entryOf({ status: 206, asset: "v.mp4", headers: { "content-range": `bytes ${value}/10` } });
  const { records, types, index } = await archive([
    ...har.ofEntry(range("0-4"), video),
    ...har.ofEntry(range("5-9"), video),
  ]);
  expect(types).toEqual(["response", "request", "metadata", "metadata"]);
  const [response, , first, second] = records;
  expect(response?.record.httpHeaders?.statusline).toBe("HTTP/1.1 200 OK");
  expect(headersOf(response?.record)).toEqual({ "x-orig-content-range": "bytes 0-4/10" });
  expect(response?.text).toBe("0123456789");
  for (const told of [first, second]) {
    expect(told?.record.warcHeader("WARC-Refers-To")).toBe(
      response?.record.warcHeader("WARC-Record-ID"),
    );
    expect(told?.text).toContain("why: the answer was a range of the joined file");
  }
  expect(second?.text).toContain('"bytes 5-9/10"');
  expect(index).toHaveLength(1);
});

test("what a response cannot say is a metadata record with its reason and the HAR entry (rules/documents#web-archive)", async () => {
  const har = makeRecords();
  const ranges = [
    { start: 0, end: 1 },
    { start: 5, end: 6 },
  ];
  const planned = [
    har.ofEntry(entryOf({ status: 0, more: { _error: "net::ERR_ABORTED" } }), undefined),
    har.ofEntry(entryOf({ asset: "gone.html" }), undefined),
    har.ofEntry(entryOf({ asset: "p" }), assetOf("p", "0156", { partial: true, ranges })),
    har.ofEntry(
      entryOf({ asset: "cut", more: { _error: "net::ERR_CONNECTION_RESET" } }),
      assetOf("cut", "begin", { partial: true, ranges: [{ start: 0, end: 4 }] }),
    ),
  ];
  const { records, types } = await archive(planned.flat());
  expect(types).toEqual(["metadata", "metadata", "metadata", "response", "request", "metadata"]);
  expect(records[0]?.text).toContain("why: there was no answer\r\n");
  expect(records[0]?.text).toContain('"_error":"net::ERR_ABORTED"');
  expect(records[1]?.text).toContain("why: the body is not held\r\n");
  expect(records[2]?.text).toContain("ranges: 0-1, 5-6\r\n");
  expect(records[3]?.record.warcHeader("WARC-Truncated")).toBe("unspecified");
  expect(records[5]?.text).toContain("why: the body was cut, and its beginning is held\r\n");
});

test("the index says of each record what warcio's own indexer says", async () => {
  const har = makeRecords();
  const a = assetOf("a", "one");
  const { bytes, index } = await archive([
    ...har.ofEntry(entryOf({ asset: "a", url: "https://www.Site.test/x?b=2&a=1" }), a),
    ...har.ofEntry(entryOf({ asset: "a", url: "http://site.test:8080/Y" }), a),
    ...har.ofEntry(entryOf({ method: "POST", status: 204 }), undefined),
    ...har.ofEntry(entryOf({ method: "PUT", status: 204, asked: "application/json" }), undefined),
    ...har.ofEntry(entryOf({ method: "OPTIONS", status: 204 }), undefined),
    ...har.ofEntry(entryOf({ status: 304 }), undefined),
  ]);
  const indexer = new CDXIndexer({ format: "cdxj" });
  const theirs: string[] = [];
  const files = [{ filename: "data.warc.gz", reader: chunks(bytes) }];
  for await (const line of indexer.iterIndex(files)) theirs.push(indexer.serializeCDXJ(line));
  const parsed = (line: string) => {
    const [, key = "", at = "", json = ""] = /^(\S+) (\S+) (.*)/.exec(line) ?? [];
    const { requestBody: _none, digest, ...rest } = JSON.parse(json);
    return { key, at, ...rest, digest: String(digest).replace("sha256:", "") };
  };
  // Preflights and 304 are no pages: replay would show an empty one.
  expect(index.map(parsed)).toEqual(theirs.map(parsed).slice(0, 4));
  expect(theirs).toHaveLength(6);
});

test("keys of the index are those that replay computes", () => {
  for (const url of [
    "https://www2.example.com/A/b?z=1&a=%20",
    "http://example.com:80/",
    "https://example.com:8443/x#f",
    "urn:text:https://example.com/",
    "https://***@example.com/",
    "http://[::1]:80/",
    "http://not a url",
  ])
    expect(surtOf(url)).toBe(getSurt(url));
});

test("a HAR is read element by element, however it is cut into pieces", async () => {
  const log = {
    version: "1.2",
    creator: { name: '"entries": [{' },
    pages: [{ id: "p", title: "[ü}" }],
    entries: [{ a: [{ b: "\\" }] }, { c: '"]}' }],
  };
  const bytes = Buffer.from(JSON.stringify({ log }));
  for (const size of [1, 7, bytes.length]) {
    const cut = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
      bytes.subarray(i * size, (i + 1) * size),
    );
    expect(await Array.fromAsync(harElements(chunks(...cut)))).toEqual([
      { list: "pages", value: log.pages[0] },
      { list: "entries", value: log.entries[0] },
      { list: "entries", value: log.entries[1] },
    ]);
  }
  const half = harElements(chunks(bytes.subarray(0, -2)));
  await expect(Array.fromAsync(half)).rejects.toThrow("the HAR is not complete");
});

test("a body of another length than announced breaks the archive off", async () => {
  const planned = makeRecords().ofEntry(entryOf({ asset: "a" }), {
    ...assetOf("a", "longer"),
    size: 3,
  });
  await expect(archive(planned)).rejects.toThrow("a body is not the announced 3 bytes long");
});
