import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtemp, open, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { filesOfTrace } from "#test/support/clients/trace-file.ts";
import { maskTrace } from "#worker/browser/trace/mask-trace.ts";
import { writeZip } from "#worker/browser/trace/write-zip.ts";

let dir: string;
let made = 0;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "flotilla-trace-"));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

const bodyOf = async function* (text: string | Buffer) {
  yield Buffer.from(text);
};

/** A trace of these events and other files, masked. */
async function masked(
  events: { trace?: object[]; network?: object[]; files?: Record<string, string | Buffer> },
  known: string[] = [],
): Promise<Record<string, string>> {
  const [from, to] = [join(dir, `${++made}.zip`), join(dir, `${made}-masked.zip`)];
  const lines = (of: object[] = []) => of.map((event) => `${JSON.stringify(event)}\n`).join("");
  const files = {
    "trace.trace": lines(events.trace),
    "trace.network": lines(events.network),
    "trace.stacks": "/home/somebody/flotilla",
    ...events.files,
  };
  const file = await open(from, "wx");
  const entries = Object.entries(files).map(([name, text]) => ({
    name,
    body: bodyOf(text),
    compress: !name.endsWith(".jpeg"),
  }));
  await writeZip(file, entries);
  await file.close();
  const size = await maskTrace({ from, to }, known, AbortSignal.timeout(60_000));
  const zip = await readFile(to);
  expect(zip.length).toBe(size);
  return Object.fromEntries([...(await filesOfTrace(zip))].map(([name, b]) => [name, String(b)]));
}

const before = (callId: string, method: string, params: object) => ({
  type: "before",
  callId,
  class: "Frame",
  method,
  params,
});
const snapshot = (...fields: object[]) => ({
  type: "frame-snapshot",
  snapshot: { callId: "c", html: ["HTML", {}, ["BODY", {}, ...fields.map((f) => ["INPUT", f])]] },
});
const field = (value: string, more: object = {}) => ({ __playwright_value_: value, ...more });

describe("what a trace shows (rules/traces#secrets-in-traces)", () => {
  test("a known secret is in no text of it, however it is written", async () => {
    const secret = `p"s&w<r/d`;
    const files = await masked(
      {
        trace: [
          before("a", "fill", { selector: "#x", value: secret }),
          { type: "log", callId: "a", message: `  fill("${secret}")` },
          { type: "console", text: JSON.stringify({ secret }) },
        ],
        network: [
          {
            type: "resource-snapshot",
            snapshot: { request: { url: `http://a/?q=${encodeURIComponent(secret)}` } },
          },
        ],
        files: {
          "resources/1.html": `a ${secret.replace("&", "&amp;").replace("<", "&lt;")} b`,
          "resources/2.jpeg": secret,
        },
      },
      [secret],
    );
    expect(files["trace.trace"]).toContain('"value":"***"');
    expect(files["trace.trace"]).toContain('fill(\\"***\\")');
    expect(files["trace.trace"]).toContain('"text":"{\\"secret\\":\\"***\\"}"');
    expect(files["trace.network"]).toContain("http://a/?q=***");
    expect(files["resources/1.html"]).toBe("a *** b");
    // Pictures stay as they are, and what names the worker's own files is left out.
    expect(files["resources/2.jpeg"]).toBe(secret);
    expect(Object.keys(files)).not.toContain("trace.stacks");
  });

  test("what password fields hold is masked there and everywhere else", async () => {
    const { "trace.trace": trace, ...rest } = await masked({
      trace: [
        before("a", "fill", { selector: "#p", value: "gone-at-once" }),
        {
          type: "log",
          callId: "a",
          message: 'locator resolved to <input id="p" type="password"/>',
        },
        { type: "after", callId: "a" },
        before("b", "fill", { selector: "#q", value: "by-hand-1" }),
        snapshot(
          field("by-hand-1", { type: "password" }),
          field("123", { autocomplete: "cc-csc" }),
        ),
        snapshot(field("shown", { type: "text" })),
      ],
      files: { "resources/a.txt": "it was by-hand-1, or gone-at-once; 123" },
    });
    expect(trace).not.toMatch(/by-hand|gone-at|"123"/);
    expect(trace).toContain("shown");
    expect(rest["resources/a.txt"]).toBe("it was ***, or ***; 123");
  });

  test("a secret that is typed a key at a time is masked, and so are its beginnings", async () => {
    const keys = (text: string) =>
      [...text].map((char, n) => before(`${text}${n}`, "keyboardType", { text: char }));
    const { "trace.trace": trace } = await masked(
      {
        trace: [
          ...keys("hello"),
          ...keys("sesame"),
          ...["s", "sesa", "sesame"].map((value) => snapshot(field(value))),
          { type: "console", text: "typed sesam, ses" },
        ],
      },
      ["sesame"],
    );
    const texts = String(trace)
      .split("\n")
      .flatMap((line) => (line === "" ? [] : JSON.parse(line)))
      .flatMap(({ params }) => params?.text ?? []);
    expect(texts.join("")).toBe(`hello${"***".repeat(6)}`);
    expect([...(trace?.match(/"__playwright_value_":"[^"]*"/g) ?? [])]).toEqual(
      Array(3).fill('"__playwright_value_":"***"'),
    );
    expect(trace).toContain("typed ***, ses");
  });

  test("cookies and headers that grant access are masked, and elsewhere what they grant it with", async () => {
    const headers = [
      { name: "Authorization", value: "Bearer a-long-token-1" },
      { name: "Accept", value: "text/html" },
    ];
    const cookies = [
      { name: "theme", value: "dark" },
      { name: "sid", value: "a-long-cookie-1" },
    ];
    const set = [{ name: "Set-Cookie", value: "sid=a-long-cookie-1; Path=/" }];
    const files = await masked({
      network: [
        {
          type: "resource-snapshot",
          snapshot: { request: { headers, cookies }, response: { headers: set } },
        },
      ],
      files: {
        "resources/a.json": '{"token":"a-long-token-1","sid":"a-long-cookie-1","theme":"dark"}',
      },
    });
    const { snapshot: entry } = JSON.parse(String(files["trace.network"]));
    expect(entry.request.headers).toEqual([
      { name: "Authorization", value: "***" },
      { name: "Accept", value: "text/html" },
    ]);
    expect(entry.request.cookies.map(({ value }: { value: string }) => value)).toEqual([
      "***",
      "***",
    ]);
    expect(entry.response.headers).toEqual([{ name: "Set-Cookie", value: "***" }]);
    expect(files["resources/a.json"]).toBe('{"token":"***","sid":"***","theme":"dark"}');
  });

  test("a line that is cut off, and bytes of any encoding, are kept and masked", async () => {
    const bytes = Buffer.from([0xff, 0xfe, 0x00, ...Buffer.from("a secret-one b"), 0x80]);
    const files = await masked(
      { files: { "trace.trace": '{"type":"log","message":"secret-one', "resources/x.dat": bytes } },
      ["secret-one"],
    );
    expect(files["trace.trace"]).toBe('{"type":"log","message":"***\n');
    const size = bytes.length - "secret-one".length + "***".length;
    expect(files["resources/x.dat"]).toContain("a *** b");
    expect(Buffer.from(files["resources/x.dat"] ?? "").length).toBeGreaterThanOrEqual(size);
  });
});
