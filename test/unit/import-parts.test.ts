import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeZip } from "client-zip";
import {
  entryOfAnswer,
  type RecordFacts,
  requestOfRecord,
} from "#hub/fleet/archive/har-of-warc.ts";
import type { ImportedAsset } from "#hub/fleet/imports/bodies.ts";
import { createEntries, type Filled } from "#hub/fleet/imports/entries.ts";
import { findPage } from "#hub/fleet/imports/find-page.ts";
import { createBudget, IMPORT_LIMITS } from "#hub/fleet/imports/limits.ts";
import { makeHar } from "#hub/fleet/imports/make-har.ts";
import { openArchive } from "#hub/fleet/imports/sources.ts";
import { readTold } from "#hub/fleet/imports/told-entry.ts";
import type { HarEntry } from "#shared/protocol/schema/har.ts";

const factsOf = (id: string, url = `https://old.test/${id}`, concurrent = ""): RecordFacts => ({
  id,
  url,
  concurrent,
  date: "2024-01-02T03:04:05.000Z",
  protocol: "",
  address: "",
  resource_type: "",
});
const noBody = (async function* () {})();
function entryOf(url: string, { status = 200, mime = "text/html", to = "" } = {}): HarEntry {
  const location = to === "" ? [] : [{ name: "location", value: to }];
  const headers = [{ name: "content-type", value: mime }, ...location];
  const start = `HTTP/1.1 ${status} X`;
  const entry = entryOfAnswer(factsOf("x", url), { start, headers, body: noBody });
  if (!entry) throw new Error("no entry");
  return entry;
}
const filledOf = (...of: Parameters<typeof entryOf>): Filled => ({
  entry: entryOf(...of),
  asset: null,
});
const assetOf = (name: string) => ({ name, size: 3 }) as ImportedAsset;

describe("the records of an archive find each other (rules/documents#import-of-a-web-archive)", () => {
  test("requests and answers come in either order, and name each other in either direction", () => {
    const entries = createEntries();
    const requestTo = (facts: RecordFacts, method: string) =>
      entries.request(
        facts,
        requestOfRecord(facts, { start: `${method} / HTTP/1.1`, headers: [], body: noBody }),
      );
    const url = "https://old.test/";
    requestTo(factsOf("q1", url), "POST");
    entries.answer(factsOf("a1", url, "q1"), "", filledOf(url));
    requestTo(factsOf("q2", url, "a2"), "PUT");
    entries.answer(factsOf("a2", url), "", filledOf(url));
    entries.answer(factsOf("a3", url), "", filledOf(url));
    requestTo(factsOf("q3", url, "a3"), "PATCH");
    entries.answer(factsOf("", url), "", filledOf(url));
    const methods = entries.done().filled.map(({ entry }) => entry.request.method);
    expect(methods).toEqual(["POST", "PUT", "PATCH", "GET"]);
  });

  test("a repetition has the body of its digest, else of the URL that it names, also of a later record", () => {
    const entries = createEntries();
    const one = assetOf("one");
    const two = assetOf("two");
    entries.repetition(factsOf("r1"), "sha1:2", "", entryOf("https://old.test/r1"));
    entries.repetition(factsOf("r2"), "", "https://old.test/a1", entryOf("https://old.test/r2"));
    entries.repetition(factsOf("r3"), "sha1:9", "", entryOf("https://old.test/r3"));
    entries.answer(factsOf("a1"), "sha1:1", { ...filledOf("https://old.test/a1"), asset: one });
    entries.answer(factsOf("a2"), "sha1:2", { ...filledOf("https://old.test/a2"), asset: two });
    const { repeated } = entries.done();
    expect(repeated.map(({ asset }) => asset?.name)).toEqual(["two", "one", undefined]);
  });

  test("entries beyond their number are counted and left out, and memory has a bound", () => {
    const entries = createEntries();
    const filled = filledOf("https://old.test/");
    for (let n = 0; n < IMPORT_LIMITS.entries + 3; n += 1) entries.add(filled);
    expect(entries.done()).toMatchObject({ dropped: 3 });
    expect(entries.done().filled).toHaveLength(IMPORT_LIMITS.entries);
    expect(() => entries.weigh(IMPORT_LIMITS.heads_bytes)).toThrow("headers of the archive");
  });

  test("what comes out of compressions has a budget, and a sender who left ends it", () => {
    const sender = new AbortController();
    const count = createBudget(10, sender.signal);
    count(10);
    expect(() => count(1)).toThrow("more than 10 bytes");
    sender.abort(new Error("left"));
    expect(() => createBudget(10, sender.signal)(1)).toThrow("left");
  });
});

describe("what our own archives tell of an entry is judged as a stranger's (rules/documents#web-archive)", () => {
  const told = (har: unknown, ranges = "") =>
    readTold(factsOf("m"), "", `har: ${JSON.stringify(har)}\r\nasset: a.bin\r\nranges: ${ranges}`);
  const entry = entryOf("https://old.test/");
  test("ranges that end before they begin are none", () => {
    expect(told(entry, "0-4 9-5 7-7")?.ranges).toEqual([
      { start: 0, end: 4 },
      { start: 7, end: 7 },
    ]);
    expect(told(entry, "1-2 ".repeat(5_000))?.ranges).toHaveLength(1_000);
  });
  test("a status that no answer has, and what is no entry, tell nothing", () => {
    const withStatus = (status: number) =>
      told({ ...entry, response: { ...entry.response, status } });
    for (const status of [-1, 1.5, 1_000, 2 ** 40, 1e300]) expect(withStatus(status)).toBeNull();
    for (const status of [0, 206, 999]) expect(withStatus(status)).not.toBeNull();
    for (const har of [null, [], "x", {}]) expect(told(har)).toBeNull();
    expect(readTold(factsOf("m"), "", "har: {")).toBeNull();
  });
});

describe("the page of an archive (rules/documents#import-of-a-web-archive)", () => {
  const at = (path: string) => `https://old.test${path}`;
  test("is the listed one, else the saved one, else the first HTML, else the first answer", () => {
    const filled = [filledOf(at("/a.js"), { mime: "text/javascript" }), filledOf(at("/b"))];
    const listed = [{ url: at("/l"), ts: "", title: "L" }];
    expect(findPage(listed, at("/s"), filled)).toMatchObject({ url: at("/l"), title: "L" });
    expect(findPage([], at("/s"), filled)).toMatchObject({ url: at("/s"), document: null });
    expect(findPage([], null, filled)?.document).toBe(filled[1] ?? null);
    expect(findPage([], null, filled.slice(0, 1))?.url).toBe(at("/a.js"));
    expect(findPage([], null, [])).toBeNull();
    expect(findPage([{ url: at("/"), ts: "", title: at("/") }], null, [])?.title).toBeNull();
  });

  test("follows redirects to the last answer, and a ring of them comes to an end", () => {
    const hop = (from: string, to: string) => filledOf(at(from), { status: 302, to: at(to) });
    const end = filledOf(at("/3"));
    expect(findPage([], at("/1"), [hop("/1", "/2"), hop("/2", "/3"), end])?.document).toBe(end);
    expect(findPage([], at("/1"), [hop("/1", "/2"), hop("/2", "/1")])?.document).not.toBeNull();
  });

  test("its HAR has each entry with its page and its body, and says how many are left out", () => {
    const sub = { ...filledOf(at("/2")), asset: assetOf("two.html") };
    const pages = [at("/1"), at("/2")].map((url) => ({
      url,
      ts: sub.entry.startedDateTime,
      title: "",
    }));
    const { log } = JSON.parse(makeHar([filledOf(at("/0")), filledOf(at("/1")), sub], pages, 7));
    expect(log.entries.map((one: { pageref?: string }) => one.pageref)).toEqual([
      undefined,
      "page-1",
      "page-2",
    ]);
    expect(log.entries[2].response.content).toMatchObject({ size: 3, _asset: "two.html" });
    expect(log).toMatchObject({ _dropped: 7, pages: [{ title: at("/1") }, { title: at("/2") }] });
  });
});

describe("a WACZ of others is opened (rules/documents#import-of-a-web-archive)", () => {
  let dir: string;
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "flotilla-wacz-"));
  });
  afterAll(() => rm(dir, { recursive: true, force: true }));
  const opened = async (files: Record<string, string>) => {
    const path = join(dir, "a.wacz");
    const input = Object.entries(files).map(([name, text]) => ({ name, input: text }));
    await Bun.write(path, await new Response(makeZip(input)).bytes());
    const file = await open(path);
    try {
      const { warcs, ...facts } = await openArchive(file);
      const texts: string[] = [];
      for await (const warc of warcs)
        texts.push(Buffer.concat(await Array.fromAsync(warc)).toString());
      return { ...facts, texts };
    } finally {
      await file.close();
    }
  };
  const archive = { "archive/a.warc": "A", "archive/b.warc.gz": "B", "archive/x/c.warc": "C" };

  test("a field that cannot be read spoils neither the others nor the list of pages", async () => {
    const pages = [
      '{"format":"json-pages-1.0"}',
      '{"url":"https://old.test/1","title":null,"ts":5}',
      '{"url":"javascript:alert(1)"}',
      "{",
      '{"url":"https://old.test/2","title":"Two"}',
    ];
    const datapackage = {
      software: "x".repeat(201),
      mainPageUrl: "https://old.test/2",
      resources: [{ path: "archive/a.warc" }, { path: "archive/b.warc.gz", hash: null }],
    };
    const found = await opened({
      ...archive,
      "pages/pages.jsonl": pages.join("\n"),
      "datapackage.json": JSON.stringify(datapackage),
    });
    expect(found).toEqual({
      format: "wacz",
      software: null,
      texts: ["A", "B"],
      pages: [
        { url: "https://old.test/2", title: "Two", ts: "" },
        { url: "https://old.test/1", title: "", ts: "" },
      ],
    });
  });

  test("a file with another hash than its package says, and a zip without one, are refused", async () => {
    const resources = [{ path: "archive/b.warc.gz", hash: "sha256:00" }];
    const datapackage = JSON.stringify({ software: "x".repeat(201), resources });
    const refused = opened({ ...archive, "datapackage.json": datapackage });
    await expect(refused).rejects.toThrow("b.warc.gz does not have the hash");
    await expect(opened({ "a.warc": "A" })).rejects.toThrow("it is no WACZ");
  });
});
