/** A close frame holds 123 bytes of reason (RFC 6455 §5.5). */
const MAX_BYTES = 120;

/** As much of `text` as fits a close frame, cut between characters. */
export const closeReason = (text: string): string => {
  const bytes = Buffer.from(text);
  if (bytes.length <= MAX_BYTES) return text;
  return `${bytes
    .subarray(0, MAX_BYTES - 3)
    .toString()
    .replace(/\ufffd$/, "")}…`;
};
