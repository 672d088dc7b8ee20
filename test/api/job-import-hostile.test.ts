import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { answerRecord, warcRecord } from "#test/support/models/made-warc.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";

let hub: TestHub;
beforeAll(async () => {
  hub = await startTestHub();
});
afterAll(() => hub.close());

const post = async (body: Uint8Array | string, type = "application/octet-stream") => {
  const answer = await fetch(`${hub.url}/jobs/import`, {
    method: "POST",
    headers: { "content-type": type },
    body: typeof body === "string" ? body : new Uint8Array(body),
  });
  return { status: answer.status, body: (await answer.json()) as never };
};
const jsonOf = async (path: string) => (await hub.call("GET", path)).body;

const page = answerRecord(
  "https://old.test/",
  "HTTP/1.1 200 OK\r\nContent-Type: text/html",
  "<p>x</p>",
);
const HOSTILE: [string, Uint8Array | string, number, string][] = [
  ["nothing", "", 422, "the archive is empty"],
  ["no archive", "hello, this is no archive\r\n\r\n", 422, "no WARC file of version"],
  ["no page", warcRecord("warcinfo", {}, "software: x"), 422, "the archive has no page"],
  ["a cut record", page.subarray(0, -20), 422, "the archive ends within record 1"],
  ["a cut compression", gzipSync(page).subarray(0, -30), 422, "damaged or cut off"],
  [
    "damaged compression",
    Buffer.from(gzipSync(page)).fill(0xff, 60, 90),
    422,
    "damaged or cut off",
  ],
  [
    "a record without a length",
    "WARC/1.1\r\nWARC-Type: response\r\n\r\n",
    422,
    "does not say how long it is",
  ],
  ["endless fields", `WARC/1.1\r\n${"x".repeat(300_000)}`, 413, "the head of a record is longer"],
  [
    "more headers than memory should hold",
    gzipSync(
      Buffer.concat(
        Array.from({ length: 300 }, (_, n) =>
          answerRecord(`https://old.test/${n}`, `HTTP/1.1 204 No\r\nx: ${"x".repeat(250_000)}`),
        ),
      ),
    ),
    413,
    "the headers of the archive are too long",
  ],
  ["a zip without a directory", "PK\u0003\u0004 and nothing more", 422, "the zip has no directory"],
  ["an endless chunk head", answerRecord("https://old.test/", "HTTP/1.1 200 OK", "zz"), 201, ""],
];
test.each(HOSTILE)(
  "an import of %s is judged with its reason and leaves nothing behind (rules/documents#import-of-a-web-archive)",
  async (_what, body, status, why) => {
    const answered = await post(body);
    expect(answered.status).toBe(status);
    expect(JSON.stringify(answered.body)).toContain(why);
    if (status === 201) return;
    const { jobs } = await jsonOf("/jobs?limit=100");
    const known = new Set(jobs.map(({ job_id }: { job_id: string }) => `jobs/${job_id}`));
    const keys = await hub.ctx.objects.list("jobs");
    expect(keys.filter((key) => !known.has(key.split("/").slice(0, 2).join("/")))).toEqual([]);
  },
);

test("an import has the type of an archive (rules/documents#import-of-a-web-archive)", async () => {
  expect((await post(page, "text/plain")).status).toBe(415);
  expect((await post(gzipSync(page), "application/gzip")).status).toBe(201);
});

test("a file that is too long, and compressions that hold too much, are 413 and leave nothing behind (rules/documents#import-of-a-web-archive)", async () => {
  const small = await startTestHub({ env: { SVC_MAX_ASSET_BYTES: "1000000" }, alone: true });
  try {
    const zeros = Buffer.alloc(8_000_000);
    const url = "https://old.test/";
    const packed = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip";
    const bombs = [
      answerRecord(url, "HTTP/1.1 200 OK", zeros.subarray(0, 2_000_000)),
      gzipSync(answerRecord(url, "HTTP/1.1 200 OK", zeros)),
      answerRecord(url, packed, gzipSync(zeros)),
      answerRecord(url, `${packed}, gzip`, gzipSync(gzipSync(zeros))),
    ];
    for (const bomb of bombs) {
      const { status } = await fetch(`${small.url}/jobs/import`, {
        method: "POST",
        headers: { "content-type": "application/warc" },
        body: new Uint8Array(bomb),
      });
      expect(status).toBe(413);
    }
    expect(await small.ctx.objects.list("jobs")).toEqual([]);
    expect(await readdir(join(small.data_dir, "imports"))).toEqual([]);
  } finally {
    await small.close();
  }
});
