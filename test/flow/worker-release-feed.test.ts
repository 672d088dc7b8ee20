import { afterEach, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { createLog, silentLog } from "#shared/kit/log.ts";
import { createQueue } from "#test/support/models/queue.ts";
import {
  archiveOf,
  BASE,
  SMALL,
  startUpdateRig,
  versionOf,
} from "#test/support/rigs/update-rig.ts";
import {
  checkFeedOnce,
  type FeedDeps,
  startReleaseFeed,
} from "#worker/program/update/release-feed.ts";
import { readState } from "#worker/program/update/state.ts";

const B = versionOf(SMALL);
const EVERY_MS = 3_600_000;
const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** A release feed as GitHub's, with a worker that looks at it. `sum` in place of the right checksum. */
async function startFeedRig(options: { sum?: string } = {}) {
  const rig = await startUpdateRig();
  closers.push(rig.close);
  const archive = await archiveOf([["VERSION", `${B}\n`], ...SMALL]);
  const sum = options.sum ?? createHash("sha256").update(archive).digest("hex");
  const asked: string[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) => {
      const { pathname, origin } = new URL(request.url);
      asked.push(pathname);
      if (pathname === "/repos/o/n/releases/latest") {
        const assets = ["worker-source.tar.gz", "SHA256SUMS"].map((name) => ({
          name,
          browser_download_url: `${origin}/get/${name}`,
        }));
        return Response.json({ tag_name: "v2", assets });
      }
      if (pathname === "/get/SHA256SUMS")
        return new Response(`${"0".repeat(64)}  other\n${sum}  worker-source.tar.gz\n`);
      return new Response(new Uint8Array(archive));
    },
  });
  closers.push(() => server.stop(true));
  const log = createQueue<Record<string, unknown>>();
  const { dir, updater, clock } = rig;
  const deps: FeedDeps = {
    repo: `http://127.0.0.1:${server.port}/repos/o/n/`,
    every_ms: EVERY_MS,
    random: () => 0.5,
    trusted: null,
    log: createLog("debug", (line) => log.push(JSON.parse(line) as Record<string, unknown>)),
    dir,
    base: BASE,
    updater,
    clock,
  };
  return { ...rig, deps, asked, feedLog: log };
}

const never = new AbortController().signal;

test("SVC_CODEHOST_REPO: a release whose checksum is right is installed, once (rules/updates#release-feed)", async () => {
  const { deps, exited, asked, dir } = await startFeedRig();
  await checkFeedOnce(deps, never);
  await exited;
  expect(await readState(dir, BASE, silentLog)).toMatchObject({ current: B, attempts: 0 });
  expect(asked).toEqual([
    "/repos/o/n/releases/latest",
    "/get/SHA256SUMS",
    "/get/worker-source.tar.gz",
  ]);
  await checkFeedOnce(deps, never);
  expect(asked.slice(3)).toEqual(["/repos/o/n/releases/latest", "/get/SHA256SUMS"]);
});

test("a release with another checksum is not taken", async () => {
  const { deps, drains, dir } = await startFeedRig({ sum: "ab".repeat(32) });
  await expect(checkFeedOnce(deps, never)).rejects.toThrow("has the checksum");
  expect(drains.all).toEqual([]);
  expect((await readState(dir, BASE, silentLog)).current).toBeNull();
});

test("the feed is looked at only while no hub has offered a version lately", async () => {
  const { deps, clock, asked, offer, exited } = await startFeedRig();
  offer(BASE);
  const feed = startReleaseFeed(deps);
  closers.push(() => feed.stop());
  await clock.sleeperIn(EVERY_MS);
  await clock.advance(EVERY_MS - 1);
  offer(BASE);
  await clock.advance(1);
  await clock.sleeperIn(EVERY_MS);
  expect(asked).toEqual([]);
  await clock.advance(EVERY_MS);
  await exited;
  expect(asked).toHaveLength(3);
});
