import { MAX_INLINE_RESULT_BYTES, ONE_SHOT } from "#shared/protocol/limits.ts";
import type { OneShotResult } from "#shared/protocol/schema/one-shot.ts";
import { refused } from "../actions/failure.ts";
import { resultText } from "../actions/result-text.ts";

/** What a call answers, before it is known how it travels. */
export interface Body {
  mime: string;
  bytes: string | Uint8Array;
}

export const textBody = (mime: string, text: string): Body => ({
  mime: `${mime}; charset=utf-8`,
  bytes: text,
});

/** @throws ActionFailure page for a value that is nested too deeply */
export const jsonBody = (value: unknown): Body => ({
  mime: "application/json",
  bytes: resultText(value),
});

/** What travels on the link beside the answer: its type, its size and the names of the fields. */
const HEAD_BYTES = 1_024;

/** How long it becomes as JSON: a reply that is too long for the link would not arrive as an answer. */
const isInline = (bytes: string | Uint8Array): boolean =>
  (typeof bytes === "string"
    ? Buffer.byteLength(JSON.stringify(bytes))
    : Math.ceil(bytes.length / 3) * 4) <=
  MAX_INLINE_RESULT_BYTES - HEAD_BYTES;

/**
 * A small answer travels on the link, a larger one through the worker's bridge, where the hub's caller takes it as fast
 * as it likes. @throws ActionFailure page for one that is too large
 */
export function resultOf(
  status: number | null,
  { mime, bytes }: Body,
  putBlob: (bytes: string | Uint8Array, mime: string) => string,
): OneShotResult {
  const size = Buffer.byteLength(bytes);
  if (size > ONE_SHOT.max_bytes)
    throw refused(
      `the answer has ${Math.ceil(size / 1024 / 1024)} MB, and may have ${ONE_SHOT.max_bytes / 1024 / 1024}`,
    );
  const head = { mime, status, size };
  // The first comparison spares large ones the second.
  if (size > MAX_INLINE_RESULT_BYTES || !isInline(bytes))
    return Object.assign(head, { blob: putBlob(bytes, mime) });
  if (typeof bytes === "string") return Object.assign(head, { text: bytes });
  return Object.assign(head, { base64: Buffer.from(bytes).toString("base64") });
}
