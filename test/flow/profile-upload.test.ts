import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { constants, createGzip } from "node:zlib";
import { systemClock } from "#shared/kit/clock.ts";
import { silentLog } from "#shared/kit/log.ts";
import { startLoop } from "#shared/kit/loop.ts";
import { type makeTar, makeTarGz, tarHeader } from "#test/support/clients/tar.ts";
import {
  type ManagedProcess,
  rssOf,
  superviseProcess,
  until,
} from "#test/support/rigs/fleet-process.ts";
import { PROGRAM } from "#test/support/rigs/program.ts";
import { freePort } from "#test/support/servers/ports.ts";

/** A hub in a process of its own, so that its memory is its own. */
let hub: ManagedProcess;
let url: string;
const MIB = 1024 * 1024;
const MAX_BYTES = 320 * MIB;
const dir = mkdtempSync(join(tmpdir(), "flotilla-upload-"));

beforeAll(async () => {
  const port = freePort();
  url = `http://127.0.0.1:${port}`;
  hub = superviseProcess("hub", [...PROGRAM, "hub"], {
    SVC_HOST: "127.0.0.1",
    SVC_PORT: String(port),
    SVC_DATA_DIR: join(dir, "hub"),
    SVC_PROFILE_MAX_BYTES: String(MAX_BYTES),
  });
  await until("the hub", 60_000, () =>
    fetch(`${url}/health`).then(
      (r) => r.ok,
      () => false,
    ),
  );
}, 180_000);
afterAll(async () => {
  await hub?.stop();
  rmSync(dir, { recursive: true, force: true });
}, 180_000);

type Body = ReadableStream<Uint8Array> | Uint8Array;

/** Uploads, and how far the hub's memory rose meanwhile. */
async function upload(body: Body, type = "application/gzip") {
  const before = rssOf(hub.pid);
  let most = before;
  const watch = startLoop({
    name: "memory",
    everyMs: 20,
    clock: systemClock,
    log: silentLog,
    pass: async () => {
      most = Math.max(most, rssOf(hub.pid));
    },
  });
  try {
    const response = await fetch(`${url}/profiles/big`, {
      method: "POST",
      headers: { "Content-Type": type },
      body: body instanceof Uint8Array ? new Uint8Array(body) : body,
    });
    // biome-ignore lint/suspicious/noExplicitAny: answers of every shape
    const answer = (await response.json()) as any;
    return { status: response.status, answer, rose: most - before };
  } finally {
    await watch.stop();
  }
}
const files = () =>
  readdirSync(dir, { recursive: true }).filter((f) => !String(f).includes(".tmp"));

/** Nothing of a refused archive may stay, inside or outside. */
async function refused(body: Body, type?: string) {
  const before = files().filter((f) => !/flotilla\.db/.test(String(f)));
  const result = await upload(body, type);
  expect(files().filter((f) => !/flotilla\.db/.test(String(f)))).toEqual(before);
  expect((await fetch(`${url}/profiles/big`)).status).toBe(404);
  return result;
}

const streamed = (chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>) =>
  new ReadableStream<Uint8Array>({
    async start(controller) {
      for await (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });

async function* gzipped(blocks: Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const gzip = createGzip({ level: constants.Z_BEST_SPEED });
  const feeding = (async () => {
    for (const block of blocks)
      if (!gzip.write(block)) await new Promise((resolve) => gzip.once("drain", resolve));
    gzip.end();
  })();
  for await (const chunk of gzip) yield chunk;
  await feeding;
}

test("hostile entries are refused in words, and nothing of them is stored or written (rules/profiles#hostile-archives)", async () => {
  const evil = async (entry: Parameters<typeof makeTar>[0][number]) => {
    const archive = await makeTarGz([["Default/Cookies", "x"], entry]);
    const { status, answer } = await refused(archive);
    return `${status} ${answer.detail[0].msg}`;
  };
  const link = { name: "Default/l", linkname: "../../../etc/passwd" };
  expect(await evil(["../../evil", "x"])).toBe('422 entry "../../evil" has ".." in its name');
  expect(await evil([join(dir, "evil"), "x"])).toContain("has an absolute name");
  expect(await evil({ ...link, type: "symlink" })).toContain("is a symbolic link");
  expect(await evil({ ...link, type: "link" })).toContain("is a hard link");
  expect(await evil({ name: "Default/d", type: "character-device" })).toContain("is a device");
  expect(
    await evil({ name: "Default/s", size: 0, pax: { "GNU.sparse.realsize": "10737418240" } }),
  ).toContain("is a sparse file");
  const whole = await makeTarGz([
    ["Default/Cookies", crypto.getRandomValues(new Uint8Array(9_999))],
  ]);
  const cut = await refused(whole.subarray(0, 6_000));
  expect(cut.status).toBe(422);
  expect(cut.answer.detail[0].msg).toBe('the archive is cut off after entry "Default/Cookies"');
});

test("an entry of 10 GB, claimed or packed, is refused with flat memory (rules/profiles#hostile-archives)", async () => {
  const claimed = await refused(
    Buffer.concat([tarHeader("Default/x", 10 * 1024 * MIB), Buffer.alloc(1_024)]),
    "application/x-tar",
  );
  expect([claimed.status, claimed.answer.detail]).toEqual([
    413,
    "the archive unpacks to more than 1280 MiB",
  ]);
  const zeros = new Uint8Array(4 * MIB);
  const bomb = function* () {
    yield tarHeader("Default/x", 1_279 * MIB);
    for (let i = 0; i < 330; i += 1) yield zeros;
  };
  const packed = await refused(streamed(gzipped(bomb())));
  expect(packed.status).toBe(413);
  expect(packed.rose).toBeLessThan(160 * MIB);
}, 180_000);

test("a million entries are refused with flat memory (rules/profiles#hostile-archives)", async () => {
  const entries = function* () {
    const block = Buffer.alloc(512 * 1_000);
    for (let i = 0; i < 1_000_000; i += 1) {
      block.set(tarHeader(`Default/${i}`, 0), (i % 1_000) * 512);
      if (i % 1_000 === 999) yield Buffer.from(block);
    }
    yield Buffer.alloc(1_024);
  };
  const { status, answer, rose } = await refused(streamed(gzipped(entries())));
  expect([status, answer.detail]).toEqual([413, "the archive has more than 200000 entries"]);
  expect(rose).toBeLessThan(160 * MIB);
}, 180_000);

test("more than SVC_PROFILE_MAX_BYTES is 413 while it comes in (rules/profiles#hostile-archives)", async () => {
  const block = new Uint8Array(4 * MIB);
  const endless = function* () {
    yield tarHeader("Default/x", 400 * MIB);
    for (let i = 0; i < 100; i += 1) yield block;
  };
  const { status, answer } = await refused(streamed(endless()), "application/x-tar");
  expect([status, answer.detail]).toEqual([413, `body is longer than ${MAX_BYTES} bytes`]);
}, 180_000);

test("300 MB go through with flat memory (rules/profiles#hostile-archives)", async () => {
  const block = new Uint8Array(MIB).map((_, i) => (i * 31) % 251);
  const profile = function* () {
    for (let i = 0; i < 30; i += 1) {
      yield tarHeader(`Default/IndexedDB/${i}`, 10 * MIB);
      for (let j = 0; j < 10; j += 1) yield block;
    }
    yield new Uint8Array(1_024);
  };
  const { status, answer, rose } = await upload(streamed(profile()), "application/x-tar");
  expect(status).toBe(201);
  expect(answer.files).toBe(30);
  expect(rose).toBeLessThan(160 * MIB);
}, 180_000);
