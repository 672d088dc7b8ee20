/** The bytes start..end, both included. */
export interface ByteRange {
  start: number;
  end: number;
}

/**
 * The range of a header `Range: bytes=a-b` in a body of `size` bytes, null if its size is not known (RFC 9110 §14.1.2).
 * "outside": none of these bytes is in the body, as where the end lies before the beginning. Null: all of it is asked for;
 * several ranges, other units and nonsense are ignored. What strangers send to the hub is read by a library
 * (`hub/platform/http/file-response.ts`), which the worker does not have.
 */
export function byteRangeOf(
  header: string | null | undefined,
  size: number | null,
): ByteRange | "outside" | null {
  const [, from = "", to = ""] = /^bytes=(\d*)-(\d*)$/i.exec(header?.trim() ?? "") ?? [];
  const last = size === null ? Number.MAX_SAFE_INTEGER : size - 1;
  if (from === "") return to === "" || size === null ? null : suffixOf(Number(to), size);
  const start = Number(from);
  const end = to === "" ? last : Math.min(Number(to), last);
  return start > end ? "outside" : { start, end };
}

const suffixOf = (length: number, size: number): ByteRange | "outside" =>
  length === 0 || size === 0 ? "outside" : { start: Math.max(0, size - length), end: size - 1 };
