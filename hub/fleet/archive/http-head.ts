import { STATUS_CODES } from "node:http";
import type { HarEntry } from "#shared/protocol/schema/har.ts";
import { bytesOf } from "./warc-record.ts";

type Header = HarEntry["response"]["headers"][number];

/** What no longer holds for a body that is stored decoded. Readers of browsertrix's archives know the prefix. */
const OF_THE_WIRE = new Set(["content-encoding", "transfer-encoding"]);
export const ORIGINAL = "x-orig-";
const TOKEN = /^[!#$%&'*+.^_`|~0-9a-z-]+$/i;

/** Non-ASCII is percent-encoded, because readers do not agree on its encoding; a line break would end the header. */
const safeValue = (value: string): string =>
  value
    .replace(/\p{Cc}+/gu, " ")
    .toWellFormed()
    .replace(/[^\x20-\x7e]+/gu, encodeURIComponent);

/** Pseudo-headers of HTTP/2 begin with a colon and are not in this set. */
const linesOf = (headers: readonly Header[]): string =>
  headers
    .filter(({ name }) => TOKEN.test(name))
    .map(({ name, value }) => `${name}: ${safeValue(value)}\r\n`)
    .join("");

export const headerValue = (headers: readonly Header[], wanted: string): string | undefined =>
  headers.find(({ name }) => name.toLowerCase() === wanted)?.value;

const asOriginal = ({ name, value }: Header): Header => ({ name: `${ORIGINAL}${name}`, value });

/** HTTP/1.1 in place of later versions, which have no text form (`WARC-Protocol` names them). */
const versionOf = (recorded: string): string => (recorded === "HTTP/1.0" ? "HTTP/1.0" : "HTTP/1.1");

/** The header block of a request. Its body was not recorded, so its length is kept under another name. */
export function requestHead({ request }: HarEntry): Uint8Array {
  const { method, url, headers, httpVersion } = request;
  const parsed = URL.canParse(url) ? new URL(url) : null;
  const path = parsed ? parsed.pathname + parsed.search : "/";
  const own = headers.map((header) =>
    /^(content-length|transfer-encoding)$/i.test(header.name) ? asOriginal(header) : header,
  );
  const host =
    parsed && headerValue(headers, "host") === undefined ? `host: ${parsed.host}\r\n` : "";
  const start = `${safeValue(method)} ${path} ${versionOf(httpVersion)}\r\n`;
  return bytesOf(`${start}${host}${linesOf(own)}\r\n`);
}

/** What the record holds of an answer. */
interface HeldBody {
  size: number;
  /** The whole file, joined from answers to ranges: it becomes a 200. */
  joined: boolean;
}

/** The header block of an answer, made to agree with the body that is stored. */
export function responseHead({ response }: HarEntry, { size, joined }: HeldBody): Uint8Array {
  const { statusText, httpVersion, headers, content } = response;
  const status = joined ? 200 : response.status;
  // HTTP/2 and later send no reason, and readers of HTTP/1.1 expect one.
  const reason = (joined ? "" : safeValue(statusText)) || (STATUS_CODES[status] ?? "");
  const own = headers.flatMap((header) => {
    const name = header.name.toLowerCase();
    if (OF_THE_WIRE.has(name) || (joined && name === "content-range")) return [asOriginal(header)];
    if (name !== "content-length" || header.value === String(size)) return [header];
    return [{ name: header.name, value: String(size) }, asOriginal(header)];
  });
  // Beyond the recorder's bound for headers there are none.
  if (headers.length === 0) own.push({ name: "content-type", value: content.mimeType });
  return bytesOf(`${versionOf(httpVersion)} ${status} ${reason}\r\n${linesOf(own)}\r\n`);
}
