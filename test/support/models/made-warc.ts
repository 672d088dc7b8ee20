/** Archives as others make them, record by record. */

/** A record of a WARC file with these fields around its block. */
export const warcRecord = (
  type: string,
  fields: Record<string, string>,
  block: string | Uint8Array,
) => {
  const body = typeof block === "string" ? Buffer.from(block) : Buffer.from(block);
  const lines = Object.entries({
    "WARC-Type": type,
    ...fields,
    "Content-Length": String(body.length),
  });
  const head = `WARC/1.0\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`;
  return Buffer.concat([Buffer.from(head), body, Buffer.from("\r\n\r\n")]);
};
/** The record of an answer: its HTTP head without the blank line, and its body as it was sent. */
export const answerRecord = (
  url: string,
  head: string,
  body: Uint8Array | string = "",
  fields = {},
) =>
  warcRecord(
    "response",
    {
      "WARC-Target-URI": url,
      "WARC-Date": "2024-01-02T03:04:05Z",
      "Content-Type": "application/http; msgtype=response",
      ...fields,
    },
    Buffer.concat([Buffer.from(`${head}\r\n\r\n`), Buffer.from(body)]),
  );
