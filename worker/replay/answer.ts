import { byteRangeOf } from "#shared/kit/byte-range.ts";
import type { ReplayEntry } from "#shared/protocol/schema/replay.ts";

/** Which bytes of a file are sent. */
export interface Part {
  /** From this byte of the file that is held… */
  at: number;
  /** …as many as this… */
  length: number;
  /** …which are the bytes from here on… */
  start: number;
  /** …of so many; null: that is not known. */
  total: number | null;
}

type Held = NonNullable<ReplayEntry["body"]>;

/**
 * The part of a body that answers a request (rules/replay#ranges). `whole`: all of it, as a 200. `lacking`: the bytes
 * that were asked for are not held.
 */
export function partOf(
  { size, ranges, total: of }: Held,
  range: string | null,
): Part | "whole" | "lacking" {
  const total = ranges ? (of ?? null) : size;
  const read = byteRangeOf(range, total);
  const asked = read === "outside" ? null : read;
  if (!ranges) {
    if (!asked) return "whole";
    return { at: asked.start, length: asked.end - asked.start + 1, start: asked.start, total };
  }
  const { start, end } = asked ?? { start: 0, end: Number.MAX_SAFE_INTEGER };
  let at = 0;
  for (const held of ranges) {
    if (start >= held.start && start <= held.end) {
      const length = Math.min(end, held.end) - start + 1;
      return { at: at + start - held.start, length, start, total };
    }
    at += held.end - held.start + 1;
  }
  return "lacking";
}

/** Statuses whose answers have no body (Fetch standard, "null body status"). */
const NO_BODY = new Set([204, 205, 304]);

export interface Sent {
  /** The file that holds the body; null: there is none. */
  path: string | null;
  part: Part | "whole";
}

/** The answer of the capture. Its body is held decoded, so it is sent as it is. */
export function responseOf(entry: ReplayEntry, { path, part }: Sent): Response {
  const headers = new Headers();
  // The recorder keeps what Chromium shows of a header, which may be no ISO 8859-1.
  for (const [name, value] of entry.headers)
    headers.append(name, Buffer.from(value, "utf8").toString("latin1"));
  const status = NO_BODY.has(entry.status) || part === "whole" ? wholeStatus(entry) : 206;
  if (path === null || NO_BODY.has(status)) return new Response(null, { status, headers });
  const file = Bun.file(path);
  if (part === "whole") return new Response(bodyFor(file, headers), { status, headers });
  const end = part.start + part.length - 1;
  headers.set("content-range", `bytes ${part.start}-${end}/${part.total ?? "*"}`);
  const bytes = file.slice(part.at, part.at + part.length);
  return new Response(bodyFor(bytes, headers), { status, headers });
}

/** What was sent in parts is sent as a whole where all of it is asked for. */
const wholeStatus = ({ status }: ReplayEntry): number => (status === 206 ? 200 : status);

/** A file brings a type of its own; where the capture has none, the browser is to find it out again. */
const bodyFor = (file: Blob, headers: Headers): Blob | ReadableStream =>
  // Bun knows a file's own stream, and its type with it.
  headers.has("content-type") ? file : file.stream().pipeThrough(new TransformStream());
