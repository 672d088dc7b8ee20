import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLog } from "#shared/kit/log.ts";
import { createFakeClock, type FakeClock } from "#test/support/fakes/fake-clock.ts";
import { type ProfileHub, startProfileHub } from "#test/support/rigs/profile-hub.ts";
import { openProfileCache } from "#worker/browser/profile/cache.ts";

const signal = new AbortController().signal;
let hub: ProfileHub;
let dir: string;
let clock: FakeClock;
beforeAll(() => {
  hub = startProfileHub();
});
afterAll(() => hub.stop());
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "flotilla-cache-"));
  clock = createFakeClock();
  hub.given = 0;
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** Lets both waits before another attempt pass. */
async function retries() {
  for (const ms of [1_000, 2_000]) {
    await clock.sleeperIn(ms);
    await clock.advance(ms);
  }
}
const open = (max_bytes = 1_000) => openProfileCache({ dir, max_bytes, clock, log: silentLog });
const bytes = (text: string) => new TextEncoder().encode(text.padEnd(400, "."));
const readText = (path: string) => Bun.file(path).text();

test("an archive is fetched once for many runs, and kept over a restart", async () => {
  const cache = await open();
  const ref = hub.offer("work", bytes("a"));
  const texts = await Promise.all(
    Array.from({ length: 5 }, () => cache.use(ref, hub.files, signal, readText)),
  );
  expect(new Set(texts)).toEqual(new Set(["a".padEnd(400, ".")]));
  expect(hub.given).toBe(1);
  writeFileSync(join(dir, "7.part"), "half");
  const again = await open();
  expect(again.names()).toEqual(["work"]);
  await again.use(ref, hub.files, signal, readText);
  expect(hub.given).toBe(1);
  expect(readdirSync(dir)).toEqual([`work.${ref.sha256}.tar.gz`]);
  expect(statSync(dir).mode & 0o777).toBe(0o700);
  expect(statSync(join(dir, `work.${ref.sha256}.tar.gz`)).mode & 0o777).toBe(0o600);
});

test("beyond its bytes the least recently used go, but none that is in use", async () => {
  const cache = await open();
  const refs = ["a", "b", "c"].map((name) => hub.offer(name, bytes(name)));
  const [a, b, c] = refs;
  if (!a || !b || !c) throw new Error("three");
  const touch = async (ref: typeof a) => {
    await clock.advance(1_000);
    await cache.use(ref, hub.files, signal, readText);
  };
  for (const ref of [a, b, a, c]) await touch(ref);
  expect(cache.names()).toEqual(["a", "c"]);
  await cache.use(a, hub.files, signal, async () => {
    for (const ref of [b, c, b]) await touch(ref);
    expect(cache.names()).toContain("a");
  });
});

test("what is damaged, too long or not there is not kept; a hub that stumbles is asked again", async () => {
  const cache = await open();
  const ref = hub.offer("work", bytes("a"));
  const gone = { ...ref, sha256: "0".repeat(64) };
  expect(await cache.use(gone, hub.files, signal, readText).catch(String)).toBe(
    "ProfileError: profile work no longer exists",
  );
  const attempt = cache.use({ ...ref, size: 10 }, hub.files, signal, readText).catch(String);
  await retries();
  expect(await attempt).toContain("longer than announced");
  expect(readdirSync(dir)).toEqual([]);
  hub.fail(503, 2);
  const used = cache.use(ref, hub.files, signal, readText);
  await retries();
  expect(await used).toStartWith("a.");
  await cache.drop(ref);
  expect(readdirSync(dir)).toEqual([]);
});

test("a run that is stopped does not spoil the archive for the one that waits beside it", async () => {
  const cache = await open();
  const ref = hub.offer("work", bytes("a"));
  const stopped = new AbortController();
  const first = cache.use(ref, hub.files, stopped.signal, readText).catch(String);
  const second = cache.use(ref, hub.files, signal, readText);
  stopped.abort(new Error("cancelled"));
  expect(await first).toContain("cancelled");
  expect(await second).toStartWith("a.");
});
