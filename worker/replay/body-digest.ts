import { createHash } from "node:crypto";

/** What a browser reports of a request's body at most. */
export const MAX_DIGESTED_BYTES = 64 * 1024;

/**
 * Tells bodies that were sent to the same URL apart, in four hex digits. Such bodies hold passwords, and sixteen bits
 * of a hash are too few to test a guess with. The boundary of a form is another one each time, and does not count.
 */
export function bodyDigest(body: Uint8Array, content_type: string): string {
  const boundary = /^multipart\/.*;\s*boundary="?([^";]+)/i.exec(content_type)?.[1];
  const bytes =
    boundary === undefined
      ? body
      : Buffer.from(Buffer.from(body).toString("latin1").replaceAll(boundary, ""), "latin1");
  return createHash("sha256").update(bytes).digest("hex").slice(0, 4);
}
