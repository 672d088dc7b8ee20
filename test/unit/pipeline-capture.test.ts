import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { createCapture, KEEP_BYTES } from "#worker/tasks/capture.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const mark = (nonce: string) => bytes(`\x1e${nonce}\n`);

describe("what a task of a warm child printed (protocol wp-exec/1)", () => {
  test("ends at its own mark, wherever the reads cut the stream, whatever it prints", async () => {
    const nonce = "0123456789abcdef";
    const text = fc.array(
      fc.oneof(
        fc.string({ unit: "grapheme" }),
        fc.constantFrom("\x1e", `\x1e${nonce}`, "\x1e0123456789abcdee\n", "é漢🎉"),
      ),
      { maxLength: 8 },
    );
    await fc.assert(
      fc.asyncProperty(text, text, fc.array(fc.nat(60), { maxLength: 12 }), async (a, b, cuts) => {
        const first = a.join("|");
        const second = b.join("|");
        fc.pre(!first.includes(`\x1e${nonce}\n`) && !first.endsWith(`\x1e${nonce}`));
        const whole = Buffer.concat([
          bytes(first),
          mark(nonce),
          bytes(second),
          mark("fedcba9876543210"),
        ]);
        const capture = createCapture();
        const one = capture.until(nonce);
        let at = 0;
        for (const cut of cuts) {
          capture.push(whole.subarray(at, at + cut));
          at += cut;
        }
        capture.push(whole.subarray(at));
        expect(await one).toEqual({ text: first.toWellFormed(), truncated: false });
        expect(await capture.until("fedcba9876543210")).toEqual({
          text: second.toWellFormed(),
          truncated: false,
        });
      }),
      { numRuns: 500 },
    );
  });

  test("a mark that came before anybody waited for it is found", async () => {
    const capture = createCapture();
    capture.push(Buffer.concat([bytes("early"), mark("n1")]));
    expect(await capture.until("n1")).toEqual({ text: "early", truncated: false });
  });

  test("a batch that prints faster than it is read: every task has what is its own", async () => {
    const capture = createCapture();
    const printed = ["n1", "n2", "n3"].map((nonce) => capture.until(nonce));
    const long = (letter: string) => bytes(letter.repeat(KEEP_BYTES));
    capture.push(Buffer.concat([long("a"), mark("n1"), long("b"), mark("n2"), mark("n3")]));
    const texts = (await Promise.all(printed)).map(({ text }) => [text.length, text[0]]);
    expect(texts).toEqual([
      [KEEP_BYTES, "a"],
      [KEEP_BYTES, "b"],
      [0, undefined],
    ]);
  });

  test("of a line of 50 MB the first and the last 256 KB are kept, and how much is missing is said", async () => {
    const capture = createCapture();
    const printed = capture.until("n1");
    const chunk = Buffer.alloc(64 * 1024, "x");
    capture.push(bytes("BEGIN"));
    for (let i = 0; i < 800; i += 1) capture.push(chunk);
    capture.push(Buffer.concat([bytes("END"), mark("n1")]));
    const { text, truncated } = await printed;
    expect(truncated).toBe(true);
    expect(text).toStartWith("BEGINx");
    expect(text).toEndWith("xEND");
    expect(text.length).toBeLessThan(2 * KEEP_BYTES + 100);
    const missing = 800 * chunk.length + 8 - 2 * KEEP_BYTES;
    expect(text).toContain(`[… ${missing} bytes left out …]`);
  });

  test("bytes that are no text become replacement characters", async () => {
    const capture = createCapture();
    const printed = capture.until("n1");
    capture.push(Buffer.concat([new Uint8Array([0x61, 0xff, 0xc3]), mark("n1")]));
    expect((await printed).text).toBe("a\ufffd\ufffd");
  });

  test("when the child is gone, what it printed is given up as it is", async () => {
    const capture = createCapture();
    const printed = capture.until("n1");
    capture.push(bytes("last words\x1en"));
    capture.giveUp("of another task");
    capture.giveUp("n1");
    expect(await printed).toEqual({ text: "last words\x1en", truncated: false });
  });
});
