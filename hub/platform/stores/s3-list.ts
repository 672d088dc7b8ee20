import { createHash } from "node:crypto";
import type { S3Calls } from "./s3-calls.ts";
import { blocksOf, escapeXml, textOf } from "./s3-xml.ts";

/** S3 deletes and lists no more keys in one call. */
const PAGE = 1_000;
const DELETE_MS = 60_000;

/** Pages of the keys below `prefix/`, without the store's own prefix; only those whose last write `wanted` accepts. */
export async function* listPages(
  calls: S3Calls,
  prefix: string,
  wanted: (changed_at: number) => boolean = () => true,
): AsyncGenerator<string[]> {
  const own = calls.place.prefix;
  let token: string | null = null;
  do {
    const { text } = await calls.send({
      method: "GET",
      key: null,
      query: {
        "list-type": "2",
        "encoding-type": "url",
        "max-keys": String(PAGE),
        prefix: `${own}${prefix}/`,
        ...(token === null ? {} : { "continuation-token": token }),
      },
    });
    // A server may leave the encoding out although it was asked for.
    const decode = textOf(text, "EncodingType") === "url" ? fromUrl : (key: string) => key;
    yield blocksOf(text, "Contents")
      .filter((entry) => wanted(Date.parse(textOf(entry, "LastModified") ?? "")))
      .map((entry) => decode(textOf(entry, "Key") ?? ""))
      .filter((key) => key.startsWith(own))
      .map((key) => key.slice(own.length));
    token = textOf(text, "IsTruncated") === "true" ? textOf(text, "NextContinuationToken") : null;
  } while (token !== null);
}

const fromUrl = (key: string): string => decodeURIComponent(key.replaceAll("+", " "));

/** Deletes these keys, at most a page of them, with one call. */
export async function deleteKeys(calls: S3Calls, keys: string[]): Promise<void> {
  if (keys.length === 0) return;
  const { prefix } = calls.place;
  const objects = keys.map((key) => `<Object><Key>${escapeXml(prefix + key)}</Key></Object>`);
  const bytes = new TextEncoder().encode(
    `<Delete xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Quiet>true</Quiet>${objects.join("")}</Delete>`,
  );
  await calls.send({
    method: "POST",
    key: null,
    query: { delete: "" },
    // S3 requires a checksum of the body for this call.
    headers: {
      "content-md5": createHash("md5").update(bytes).digest("base64"),
      "content-type": "application/xml",
    },
    body: { bytes, sha256: createHash("sha256").update(bytes).digest("hex") },
    deadline_ms: DELETE_MS,
  });
}
