import { create } from "content-disposition";
import type { Context } from "hono";
import rangeParser from "range-parser";
import { isHeld } from "./if-none-match.ts";
import { isInert } from "./inert-types.ts";

interface ByteRange {
  start: number;
  end: number;
}

/** A stored body and what its headers need. */
export interface FileBody {
  name: string;
  mime: string;
  size: number;
  /** The strong ETag: the sha256 in lower-case hex where it is known, else what changes with the body. */
  sha256?: string;
  tag?: string;
  /** Content-Security-Policy; by default all but inert types get a sandbox. */
  csp?: string;
  /** Show it as a page under `csp`; by default, all but inert types are saved. */
  page?: boolean;
  /** The bytes start..end, both included; null when the body is gone. */
  read(range: ByteRange | undefined): Promise<ReadableStream<Uint8Array> | null>;
  /** The whole body as a file, where there is one: Bun sends files with Content-Length, streams in chunks. */
  file?(): Promise<Blob | null>;
}

const MIME =
  /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(\s*;\s*[\w!#$&^.+-]+=("[\x20-\x21\x23-\x5b\x5d-\x7e]*"|[\w!#$&^.+-]+))*$/;

/** The captured type, when it can stand in a header. */
export const safeMime = (mime: string): string =>
  mime.length <= 255 && MIME.test(mime) ? mime : "application/octet-stream";

/** RFC 6266. Where plain `filename` cannot hold the name, it holds a safe name, which cannot leave a directory. */
export const contentDisposition = (name: string, type: "inline" | "attachment"): string =>
  create(name, { type, fallback: name.replace(/[^\x20-\x7e]|["\\/%;]/g, "_") });

type Range = ByteRange | "unsatisfiable" | undefined;

/** One byte range of RFC 9110 §14. Several ranges, other units and nonsense are ignored: the whole body is the answer. */
function parseRange(header: string | undefined, size: number): Range {
  if (!header || !/^bytes=/i.test(header)) return undefined;
  // range-parser 1.3.0 calls a suffix that is longer than the body unsatisfiable; RFC 9110 §14.1.2 means all of it.
  const fitting = header.replace(/^bytes=-(\d+)$/i, (_, n) => `bytes=-${Math.min(n, size)}`);
  const ranges = rangeParser(size, fitting);
  if (ranges === -1) return "unsatisfiable";
  return ranges === -2 || ranges.length > 1 ? undefined : ranges[0];
}

/** Answers GET and HEAD for a stored body: ETag, If-None-Match, Range, If-Range. Null when the body is gone. */
export async function fileResponse(c: Context, file: FileBody): Promise<Response | null> {
  const etag = `"${file.sha256 ?? file.tag}"`;
  const mime = safeMime(file.mime);
  const headers = new Headers({
    ETag: etag,
    "Accept-Ranges": "bytes",
    "Cache-Control": "private, no-cache",
    "X-Content-Type-Options": "nosniff",
  });
  const inert = isInert(mime);
  const csp = file.csp ?? (inert ? null : "sandbox");
  if (csp !== null) headers.set("Content-Security-Policy", csp);
  if (isHeld(c, etag)) return new Response(null, { status: 304, headers });

  const if_range = c.req.header("if-range");
  const wanted = if_range === undefined || if_range.trim() === etag;
  const range = wanted ? parseRange(c.req.header("range"), file.size) : undefined;
  if (range === "unsatisfiable") {
    headers.set("Content-Range", `bytes */${file.size}`);
    headers.set("Content-Type", "application/json");
    const body = JSON.stringify({ detail: "the range is outside the body" });
    return new Response(c.req.method === "HEAD" ? null : body, { status: 416, headers });
  }
  headers.set("Content-Type", mime);
  headers.set(
    "Content-Disposition",
    contentDisposition(file.name, inert || file.page ? "inline" : "attachment"),
  );
  const length = range ? range.end - range.start + 1 : file.size;
  headers.set("Content-Length", String(length));
  if (range) headers.set("Content-Range", `bytes ${range.start}-${range.end}/${file.size}`);
  const status = range ? 206 : 200;
  if (c.req.method === "HEAD") return new Response(null, { status, headers });
  const body = await openBody(c, file, range);
  return body && new Response(body, { status, headers });
}

/** Bun answers a Range header itself when the body is a whole file, so an ignored range must not come with one. */
async function openBody(c: Context, file: FileBody, range: ByteRange | undefined) {
  const whole = range || c.req.header("range") === undefined ? await file.file?.() : null;
  if (!whole) return file.read(range);
  return range ? whole.slice(range.start, range.end + 1) : whole;
}
