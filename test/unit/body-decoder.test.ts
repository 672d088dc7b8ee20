import { expect, test } from "bun:test";
import fc from "fast-check";
import { AmbiguousBodyError, createBodyDecoder } from "#worker/browser/cdp/body-decoder.ts";

/** JSON as Chromium writes it: everything outside ASCII escaped. */
const asciiJson = (text: string): string =>
  JSON.stringify(text).replace(
    /[\u007f-\uffff]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

function decode(message: Buffer, cuts: number[]): { bytes: Buffer; failure: Error | null } {
  const parts: Buffer[] = [];
  const head = message.indexOf('"body":"') + '"body":"'.length;
  const decoder = createBodyDecoder(head, {
    write: (bytes) => parts.push(Buffer.from(bytes)),
    restart: () => {},
  });
  let from = 0;
  for (const cut of [
    ...cuts.map((c) => c % message.length).sort((a, b) => a - b),
    message.length,
  ]) {
    decoder.feed(message.subarray(from, cut));
    from = cut;
  }
  return { failure: decoder.end(), bytes: Buffer.concat(parts) };
}

const wrap = (body: string, base64: boolean): Buffer =>
  Buffer.from(`{"id":7,"result":{"body":${body},"base64Encoded":${base64}},"sessionId":"A"}`);
const cuts = fc.array(fc.nat({ max: 10_000 }), { maxLength: 12 });

test("a base64 body is decoded byte for byte wherever the message is cut", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400 }), cuts, (bytes, at) => {
      const body = Buffer.from(bytes);
      const result = decode(wrap(`"${body.toString("base64")}"`, true), at);
      expect(result.failure).toBeNull();
      expect(result.bytes.equals(body)).toBe(true);
    }),
  );
});

test("a text body is decoded byte for byte, raw or escaped, wherever the message is cut", () => {
  const text = fc.string({ unit: "grapheme", maxLength: 80 }).map((s) => `"\\\n€${s} 😀`);
  fc.assert(
    fc.property(text, cuts, fc.boolean(), (body, at, escaped) => {
      const json = escaped ? asciiJson(body) : JSON.stringify(body);
      const result = decode(wrap(json, false), at);
      if (result.failure) throw result.failure;
      expect(result.bytes.toString("utf8")).toBe(body);
    }),
  );
});

test("a text that looks like base64 is refused instead of being decoded", () => {
  expect(decode(wrap('"QUJDREVG"', false), []).failure).toBeInstanceOf(AmbiguousBodyError);
});

test("what the sink throws is the failure of the read", () => {
  const decoder = createBodyDecoder(1, {
    write: () => {
      throw new Error("disk full");
    },
    restart: () => {},
  });
  decoder.feed(Buffer.from('"QUJD","base64Encoded":true}'));
  expect(decoder.end()?.message).toBe("disk full");
});
