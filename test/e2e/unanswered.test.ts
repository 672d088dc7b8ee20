import { afterAll, beforeAll, expect, test } from "bun:test";
import { type JobLane, openJobLane } from "#test/support/rigs/lane-jobs.ts";
import { seededBytes, sha256, utf8 } from "#test/support/servers/site/bytes.ts";
import { startServer } from "#test/support/servers/site/server.ts";
import type { LaneBrowser } from "#worker/browser/lanes/lane-browser.ts";

/** What a job's end finds open is told by its cause: not sent, not answered, or not taken (worker/browser/record/left-open.ts). */

const SLOW_MS = 180_000;
/** Chromium has so many connections to a host. */
const CONNECTIONS = 6;
const QUEUED = 30;

let site: Awaited<ReturnType<typeof startServer>>;
let lane: JobLane;
beforeAll(async () => {
  [site, lane] = await Promise.all([startServer("127.0.0.1"), openJobLane()]);
}, SLOW_MS);
afterAll(async () => {
  await lane.close();
  await site.stop();
});

const page = (path: string, script: string): string => {
  const html = `<!doctype html><link rel=icon href=data:,><title>page</title><script>${script}</script>`;
  site.body(path, { mime: "text/html", bytes: utf8(html) });
  return site.origin + path;
};

test(
  "pictures that wait for a connection when the time is up are unsent, not lost, and a server that is slow is named",
  async () => {
    let asked = 0;
    // Held until the site stops.
    site.on("/held.svg", () => {
      asked += 1;
    });
    const script = `onload = () => {
      for (let i = 0; i < ${CONNECTIONS + QUEUED}; i += 1) new Image().src = "/held.svg?" + i;
    }`;
    const options = { max_wait_seconds: 6, idle_seconds: 0.5 };
    const { outcome, log } = await lane.run({ url: page("/pictures", script), options });
    expect({ asked, capture: outcome.capture, log }).toMatchObject({
      asked: CONNECTIONS,
      capture: {
        seen: 1,
        captured: 1,
        lost: 0,
        ratio: 1,
        unanswered: CONNECTIONS + QUEUED,
        warnings: [
          expect.stringContaining(`${CONNECTIONS} requests were sent, and nobody answered`),
          expect.stringContaining(`${QUEUED} requests were still waiting in the browser, unsent`),
        ],
      },
    });
    expect(outcome.status).toBe("completed");
  },
  SLOW_MS,
);

test(
  "answers that their page is too busy to take are read from the network, and counted",
  async () => {
    const body = seededBytes(31, 100_000);
    const asked = Promise.withResolvers<void>();
    const busy = Promise.withResolvers<void>();
    site.on("/go", async (_q, res) => {
      await asked.promise;
      res.writeHead(200, { "content-type": "text/plain" }).end("go");
    });
    site.on("/busy", (_q, res) => {
      res.writeHead(204).end();
      busy.resolve();
    });
    const waiting = new Set<string>();
    const answer = (path: string, length: Record<string, string>) =>
      site.on(path, async (_q, res) => {
        if (waiting.add(path).size === 2) asked.resolve();
        await busy.promise;
        res.writeHead(200, { "content-type": "application/octet-stream", ...length });
        res.end(body);
      });
    answer("/declared.bin", { "content-length": String(body.length) });
    answer("/chunked.bin", {});
    const script = `onload = async () => {
      fetch("/declared.bin");
      fetch("/chunked.bin");
      await (await fetch("/go")).text();
      navigator.sendBeacon("/busy");
      for (;;);
    }`;
    const options = { max_wait_seconds: 8, idle_seconds: 0.5 };
    const { outcome, assets, log } = await lane.run({ url: page("/busy-page", script), options });
    const held = (name: string) => assets.find((a) => a.source_url.endsWith(name));
    // Whether all of what has no length is there, only its page could tell.
    expect({ capture: outcome.capture, log }).toMatchObject({
      capture: { partial: 1, lost: 0, reasons: { timeout: 1 }, unanswered: 0 },
    });
    expect(held("/declared.bin")).toMatchObject({ sha256: sha256(body), partial: false });
    expect(held("/chunked.bin")).toMatchObject({ sha256: sha256(body), partial: true });
  },
  SLOW_MS,
);

test(
  "a Chromium that falls silent when all bodies are stored costs the job its page.html alone",
  async () => {
    let browser: LaneBrowser | undefined;
    const { outcome, assets, log } = await lane.run({
      url: page("/falls-silent", ""),
      onBrowser: (own) => {
        browser = own;
      },
      onLog: (line) => line.startsWith("idle: network silent") && stop(browser),
    });
    expect({ outcome, log }).toMatchObject({
      outcome: {
        status: "completed",
        error: null,
        capture: {
          page: null,
          lost: 0,
          ratio: 1,
          warnings: [
            // Its lane's watch or the job's own, whichever is first to notice.
            expect.stringMatching(
              /^no page\.html: Chromium (was ended during the job, because it was silent for 3 pings of 5 s|sent nothing for 10 s)/,
            ),
          ],
        },
      },
    });
    expect(assets.map(({ source_url }) => source_url)).toEqual([`${site.origin}/falls-silent`]);
  },
  SLOW_MS,
);

/** As a machine without memory or time does to it; its lane kills it at the end of the job. */
function stop(browser: LaneBrowser | undefined): void {
  if (browser) process.kill(browser.pid, "SIGSTOP");
}
