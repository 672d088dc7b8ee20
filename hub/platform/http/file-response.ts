import type { Context } from "hono";
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
  /** Shown as a page under `csp`; by default all but inert types are saved. */
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

/** RFC 6266 with a plain fallback; the name can neither end the header nor leave a directory. */
export function contentDisposition(name: string, as: "inline" | "attachment"): string {
  const plain = name.replace(/[^\x20-\x7e]|["\\/%;]/g, "_");
  const encoded = encodeURIComponent(name).replace(
    /['()*]/g,
    (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `${as}; filename="${plain}"; filename*=UTF-8''${encoded}`;
}

type Range = ByteRange | "unsatisfiable" | undefined;

/**
 * One byte range of RFC 9110 §14. Several ranges, other units and nonsense are ignored, as the RFC allows: the whole
 * body is the answer.
 */
function parseRange(header: string | undefined, size: number): Range {
  const [, from, to] = /^bytes=([0-9]{0,15})-([0-9]{0,15})$/i.exec((header ?? "").trim()) ?? [];
  if (from === undefined || to === undefined || (from === "" && to === "")) return undefined;
  if (from === "") {
    const length = Number(to);
    if (length === 0 || size === 0) return "unsatisfiable";
    return { start: Math.max(0, size - length), end: size - 1 };
  }
  const start = Number(from);
  const end = to === "" ? size - 1 : Math.min(Number(to), size - 1);
  if (to !== "" && Number(to) < start) return undefined;
  return start >= size ? "unsatisfiable" : { start, end };
}

/** Whether If-None-Match names this ETag; weak or strong is the same for it (RFC 9110 §13.1.2). */
export const listsEtag = (header: string, etag: string): boolean =>
  header.trim() === "*" ||
  header.split(",").some((entry) => entry.trim().replace(/^W\//, "") === etag);

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
  const none_match = c.req.header("if-none-match");
  if (none_match !== undefined && listsEtag(none_match, etag))
    return new Response(null, { status: 304, headers });

  const if_range = c.req.header("if-range");
  const wanted = if_range === undefined || if_range.trim() === etag;
  const range = wanted ? parseRange(c.req.header("range"), file.size) : undefined;
  if (range === "unsatisfiable") {
    headers.set("Content-Range", `bytes */${file.size}`);
    headers.set("Content-Type", "application/json");
    const body = JSON.stringify({ detail: "the range lies outside the body" });
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

/** Bun answers a Range header itself when the body is a whole file, so a range that we ignore must not meet one. */
async function openBody(c: Context, file: FileBody, range: ByteRange | undefined) {
  const whole = range || c.req.header("range") === undefined ? await file.file?.() : null;
  if (!whole) return file.read(range);
  return range ? whole.slice(range.start, range.end + 1) : whole;
}
