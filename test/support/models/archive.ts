import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { CDXIndexer, WARCParser, WARCSerializer } from "warcio";

/** A record as warcio reads it. */
export interface ReadRecord {
  type: string;
  uri: string;
  /** Fields of the record itself, with names in lower case. */
  fields: Record<string, string>;
  statusline: string;
  /** Of the HTTP message, with names in lower case. */
  headers: Record<string, string>;
  body: Uint8Array;
  text: string;
}

const lowered = (pairs: Iterable<[string, string]> = []): Record<string, string> =>
  Object.fromEntries([...pairs].map(([name, value]) => [name.toLowerCase(), value]));

/** Every record of a WARC file. */
export async function readWarc(bytes: Uint8Array): Promise<ReadRecord[]> {
  const records: ReadRecord[] = [];
  for await (const record of WARCParser.iterRecords([bytes])) {
    const body = await record.readFully(false);
    records.push({
      type: record.warcType ?? "",
      uri: record.warcTargetURI ?? "",
      fields: lowered(record.warcHeaders.headers as Iterable<[string, string]>),
      statusline: record.httpHeaders?.statusline ?? "",
      headers: lowered(record.httpHeaders?.headers as Iterable<[string, string]> | undefined),
      body,
      text: new TextDecoder().decode(body),
    });
  }
  return records;
}

/** Records whose digests are not those that warcio computes, as types and URIs. */
export async function wrongDigests(bytes: Uint8Array): Promise<string[]> {
  const wrong: string[] = [];
  // A digest is of the headers as they were written.
  for await (const record of WARCParser.iterRecords([bytes], { keepHeadersCase: true })) {
    const { warcType: type, warcTargetURI: uri } = record;
    const { warcBlockDigest: block, warcPayloadDigest: payload } = record;
    const again = new WARCSerializer(record, { digest: { algo: "sha-256", prefix: "sha256:" } });
    await again.digestRecord({ recompute: true });
    const has_payload = type === "response" || type === "resource";
    const is_block = type === "warcinfo" || record.warcBlockDigest === block;
    if (!is_block || (has_payload && record.warcPayloadDigest !== payload))
      wrong.push(`${type} ${uri}`);
  }
  return wrong;
}

/** The index that warcio makes of a WARC file, sorted, with digests that name no algorithm. */
export async function indexOf(filename: string, bytes: Uint8Array): Promise<string[]> {
  const indexer = new CDXIndexer({ format: "cdxj" });
  const lines: string[] = [];
  for await (const line of indexer.iterIndex([{ filename, reader: [bytes] as never }]))
    lines.push(indexer.serializeCDXJ(line).trim());
  // Nobody looks the page up that is kept beside the answers.
  return lines.filter((line) => !line.startsWith("urn:dom:")).toSorted();
}

/** The files that `datapackage.json` of an unpacked WACZ names, with what they are. */
export async function packedFiles(dir: string) {
  const text = await readFile(join(dir, "datapackage.json"), "utf8");
  const { resources } = JSON.parse(text) as {
    resources: { path: string; hash: string; bytes: number }[];
  };
  const named = resources.map(({ path, hash, bytes }) => ({ path, hash, bytes }));
  const found = await Promise.all(
    named.map(async ({ path }) => {
      const bytes = await readFile(join(dir, path));
      return { path, hash: `sha256:${sha256(bytes)}`, bytes: bytes.length };
    }),
  );
  return { named, found };
}

const sha256 = (bytes: Uint8Array) => new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
