import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { RunExtras } from "#shared/protocol/link/messages.ts";
import { JobOptions } from "#shared/protocol/schema/job.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { laneWarm, type SessionRig, startSessionRig } from "#test/support/rigs/session-rig.ts";
import { assignment } from "#test/support/rigs/worker-rig.ts";
import { type SiteServer, startServer } from "#test/support/servers/site/server.ts";

/** How much browsers may download (rules/browser-options#limits-of-downloads). */

setDefaultTimeout(180_000);

const SMALL = 10_000;
const LARGE = 3_000_000;

let site: SiteServer;
let rig: SessionRig;
beforeAll(async () => {
  [site, rig] = await Promise.all([
    startServer("127.0.0.1"),
    startSessionRig({ SVC_HEADLESS_LANES: "1" }),
  ]);
  for (const [path, size] of [
    ["/small.bin", SMALL],
    ["/large.bin", LARGE],
  ] as const)
    site.on(path, (_req, res) => {
      res.writeHead(200, {
        "content-type": "application/octet-stream",
        "content-disposition": "attachment",
      });
      res.end(Buffer.alloc(size, 7));
    });
  site.on("/", (_req, res) => {
    res.writeHead(200, { "content-type": "text/html" });
    res.end(`<!doctype html><title>files</title><link rel=icon href="data:,"><a download href="/small.bin">s</a><a download href="/large.bin">l</a>
<script>for (const link of document.links) link.click();</script>`);
  });
});
afterAll(async () => {
  await rig.close();
  await site.stop();
});

let jobs = 0;
async function run(max_download_bytes: number | null) {
  jobs += 1;
  const job_id = `loads${jobs}`;
  const warm = laneWarm(rig.peer, 0);
  rig.peer.send({
    ...assignment(job_id, 0, 900 + jobs),
    url: site.origin,
    options: JobOptions.parse({ idle_seconds: 0.5 }),
    extras: RunExtras.parse({
      browser_options: max_download_bytes === null ? null : { max_download_bytes },
    }),
  });
  const result = await rig.peer.nextWhere(["result"], (frame) => frame.job_id === job_id);
  await warm;
  return result;
}

test("a job keeps what is within the limit, and counts the rest as lost", async () => {
  const all = await run(null);
  expect(all.capture).toMatchObject({ seen: 3, captured: 3, reasons: {} });
  const none = await run(0);
  expect(none).toMatchObject({ status: "completed" });
  expect(none.capture).toMatchObject({ seen: 3, captured: 1, lost: 2, reasons: { too_large: 2 } });
});

test("a session cancels what exceeds the limit, and what comes after it", async () => {
  const session = await rig.open({ browser_options: { max_download_bytes: SMALL } });
  const files = async () =>
    (await session.get<{ name: string; state: string; size: number }[]>("downloads")).map(
      ({ name, state, size }) => [name, state, size] as const,
    );
  const ended = (name: string) =>
    until(`the end of ${name}`, 60_000, async () =>
      (await files()).find(([file, state]) => file === name && state !== "in_progress"),
    );
  const click = (path: string) =>
    session.get("evaluate", {
      code: `{ const a = document.createElement("a"); a.href = "${path}"; a.download = ""; a.click(); }`,
    });
  await session.get("navigate", { url: `${site.origin}/page` }).catch(() => {});
  await click("/small.bin");
  expect(await ended("small.bin")).toEqual(["small.bin", "completed", SMALL]);
  await click("/large.bin");
  expect((await ended("large.bin"))?.[1]).toBe("canceled");
  await session.close();
});
