import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ReplayEntry } from "#shared/protocol/schema/replay.ts";
import { bodyDigest } from "#worker/replay/body-digest.ts";
import { makeOwnKey } from "#worker/replay/certificate.ts";
import { createMatcher } from "#worker/replay/match.ts";
import { createTally, type Tally } from "#worker/replay/report.ts";
import { startReplayServer } from "#worker/replay/server.ts";
import { type BodySpool, createBodySpool } from "#worker/replay/spool.ts";

/** What answers a lane's gate, over its real sockets. */

const LETTERS = "abcdefghijklmnopqrstuvwxyz";
const bodies = new Map<string, string>();
/** Names of the bodies that were fetched, in order. */
let fetched: string[] = [];
let dir: string;
let close: (() => Promise<void>) | null = null;
let tally: Tally;
let told: string[] = [];

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "replay-"));
  bodies.clear();
  fetched = [];
  told = [];
});
afterEach(async () => {
  await close?.();
  close = null;
  await rm(dir, { recursive: true, force: true });
});

const spoolOf = (max_bytes = 1_000): BodySpool =>
  createBodySpool({
    dir,
    max_bytes,
    read: async function* (name) {
      fetched.push(name);
      yield Buffer.from(bodies.get(name) ?? "");
    },
  });

/** An answer with this body, whose name is its text's. */
function answer(path: string, body: string | null, more: Partial<ReplayEntry> = {}): ReplayEntry {
  const name = `${path}.body`;
  if (body !== null) bodies.set(name, body);
  return {
    method: "GET",
    url: `https://site.test${path}`,
    status: 200,
    headers: [["content-type", "text/plain"]],
    body: body === null ? null : { name, size: body.length },
    ...more,
  };
}

function serve(entries: ReplayEntry[], spool = spoolOf()) {
  tally = createTally("job1");
  const server = startReplayServer({
    dir,
    key: makeOwnKey(Date.now()),
    matcher: createMatcher(entries),
    spool,
    tally,
    onMissed: (method, url) => told.push(`${method} ${url}`),
  });
  ({ close } = server);
  return (path: string, init: RequestInit = {}, scheme: "https" | "http" = "https") =>
    fetch(`${scheme}://site.test${path}`, {
      ...init,
      redirect: "manual",
      unix: scheme === "https" ? server.stand_in.tls : server.stand_in.http,
      tls: { rejectUnauthorized: false },
    } as RequestInit);
}

describe("a capture answers (rules/replay#what-is-answered)", () => {
  test("with its status, headers and body, over TLS and without", async () => {
    const call = serve([
      answer("/made", "text", { status: 201, headers: [["x-own", "1"]] }),
      answer("/old", null, { status: 302, headers: [["location", "/new"]] }),
      { ...answer("/plain", "plain"), url: "http://site.test/plain" },
    ]);
    const made = await call("/made");
    expect([made.status, made.headers.get("x-own"), await made.text()]).toEqual([201, "1", "text"]);
    expect(made.headers.get("content-type")).toBeNull();
    const old = await call("/old");
    expect([old.status, old.headers.get("location")]).toEqual([302, "/new"]);
    expect(await (await call("/plain", {}, "http")).text()).toBe("plain");
    expect((await call("/plain")).status).toBe(504);
    expect(tally.report()).toMatchObject({ answered: 3, missed_count: 1 });
    expect(told).toEqual(["GET https://site.test/plain"]);
  });

  test("with parts of a whole body (rules/replay#ranges)", async () => {
    const call = serve([answer("/letters", LETTERS)]);
    const part = await call("/letters", { headers: { range: "bytes=2-4" } });
    expect([part.status, part.headers.get("content-range"), await part.text()]).toEqual([
      206,
      "bytes 2-4/26",
      "cde",
    ]);
    const whole = await call("/letters");
    expect([whole.status, await whole.text()]).toEqual([200, LETTERS]);
    expect(fetched).toEqual(["/letters.body"]);
  });

  test("what was sent with another body is not answered (rules/replay#matching)", async () => {
    const digest = bodyDigest(Buffer.from("one"), "");
    const call = serve([answer("/post", "answer", { method: "POST", digest })]);
    const post = async (body: string) => (await call("/post", { method: "POST", body })).status;
    expect([await post("one"), await post("two")]).toEqual([200, 504]);
  });

  test("without its body to a script that may not read it, and not as a page (rules/replay#what-is-not-in-the-capture)", async () => {
    const lacks = { status: 201, lacks: "the capture does not have its body" };
    const ask = serve([
      answer("/sent", null, { method: "POST", ...lacks }),
      answer("/api", null, lacks),
      answer("/cut", null, { status: 0, lacks: "it had no answer then" }),
    ]);
    const by_script = { headers: { "sec-fetch-dest": "empty" } };
    const as_page = {
      headers: { "sec-fetch-dest": "document", "upgrade-insecure-requests": "1" },
    };
    const sent = await ask("/sent", { method: "POST", body: "x" });
    expect([sent.status, sent.headers.get("content-type"), await sent.text()]).toEqual([
      ...[201, "text/plain", ""],
    ]);
    const statuses = [
      (await ask("/api", by_script)).status,
      (await ask("/api", as_page)).status,
      (await ask("/api")).status,
      (await ask("/cut", by_script)).status,
    ];
    expect(statuses).toEqual([201, 504, 504, 504]);
    expect(tally.report()).toMatchObject({ answered: 0, missed_count: 5 });
    expect(tally.report().missed).toHaveLength(3);
  });

  test("304 only to a condition, and a preflight where it knows the URL (rules/replay#matching)", async () => {
    const call = serve([
      answer("/unchanged", null, { status: 304 }),
      answer("/api", "x", { method: "PUT" }),
    ]);
    const conditional = { headers: { "if-none-match": '"1"' } };
    expect((await call("/unchanged", conditional)).status).toBe(304);
    expect((await call("/unchanged")).status).toBe(504);
    const preflight = await call("/api", {
      method: "OPTIONS",
      headers: { origin: "https://other.test", "access-control-request-method": "PUT" },
    });
    expect([preflight.status, preflight.headers.get("access-control-allow-origin")]).toEqual([
      204,
      "https://other.test",
    ]);
  });

  test("what Chromium asks for itself is neither answered nor listed (rules/replay#what-is-not-in-the-capture)", async () => {
    const call = serve([]);
    const own = {
      "sec-fetch-site": "none",
      "sec-fetch-mode": "no-cors",
      "sec-fetch-dest": "empty",
    };
    expect((await call("/accounts", { headers: own })).status).toBe(504);
    expect((await call("/time?cup2key=1:2", {}, "http")).status).toBe(504);
    expect(tally.report()).toMatchObject({ missed_count: 0, missed: [] });
  });
});

describe("bodies on the worker's disk (rules/replay#limits)", () => {
  test("are fetched once, and make room for others", async () => {
    const spool = spoolOf(10);
    for (const name of ["a", "b", "c"]) bodies.set(name, "12345");
    for (const name of ["a", "a", "b", "a", "c", "a", "b"]) await spool.fileOf(name, 5);
    expect(fetched).toEqual(["a", "b", "c", "b"]);
    expect(await readdir(dir)).toHaveLength(2);
  });

  test("are refused when they are too large, or not what the index says", async () => {
    const spool = spoolOf(10);
    bodies.set("long", "123456");
    expect(spool.fileOf("large", 11)).rejects.toThrow("keeps 10 at most");
    expect(spool.fileOf("long", 5)).rejects.toThrow("longer than it was");
    expect(spool.fileOf("short", 5)).rejects.toThrow("shorter than it was");
  });
});
