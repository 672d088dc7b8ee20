import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { DeadlineError } from "#shared/kit/clock.ts";
import type { StoredAsset } from "#test/support/rigs/fetch-rig.ts";
import { type JobLane, openJobLane } from "#test/support/rigs/lane-jobs.ts";
import { type SiteServer, startServer } from "#test/support/servers/site/server.ts";
import { startTroubleSite, type TroubleSite } from "#test/support/servers/site/trouble.ts";
import type { CdpSession } from "#worker/browser/cdp/connection.ts";
import type { LaneBrowser } from "#worker/browser/lanes/lane-browser.ts";

const SLOW_MS = 180_000;

let site: TroubleSite;
let lane: JobLane;
beforeAll(async () => {
  [site, lane] = await Promise.all([startTroubleSite(), openJobLane()]);
}, 180_000);
afterAll(async () => {
  await lane.close();
  await site.stop();
});

const hasImage = (assets: { sha256: string }[]): boolean =>
  assets.some((a) => a.sha256 === site.image.sha256);

/** Resolves when a page has told of its load and its picture was read: a busy machine reads it after that. */
function createLoaded() {
  const told = Promise.withResolvers<void>();
  const read = Promise.withResolvers<void>();
  return {
    promise: Promise.all([told.promise, read.promise]),
    hears: {
      onLog: (line: string) => void (line.startsWith("wait: load event") && told.resolve()),
      onAsset: async ({ sha256 }: StoredAsset) =>
        void (sha256 === site.image.sha256 && read.resolve()),
    },
  };
}

/** Ends every renderer of a browser, as the kernel does when memory is short. */
async function killRenderers(browser: LaneBrowser): Promise<void> {
  const { processInfo } = await browser.connection.root.send("SystemInfo.getProcessInfo");
  for (const { type, id } of processInfo) if (type === "renderer") process.kill(id, "SIGKILL");
}

describe("a page that misbehaves", () => {
  test(
    "in an alert loop is closed; what it had loaded is kept",
    async () => {
      const { outcome, assets } = await lane.run({ url: `${site.origin}/alerts` });
      expect(outcome.status).toBe("failed");
      expect(outcome.error).toContain("opened more than 10 dialogs");
      expect(hasImage(assets)).toBe(true);
    },
    SLOW_MS,
  );

  test(
    "that asks a few times is answered no and goes on",
    async () => {
      const { outcome, log } = await lane.run({ url: `${site.origin}/asks` });
      expect(outcome).toMatchObject({ status: "completed", title: "false null" });
      expect(log.filter((line) => line.includes("dismissed a"))).toHaveLength(3);
    },
    SLOW_MS,
  );

  test(
    "that asks to stay is left",
    async () => {
      const { outcome } = await lane.run({ url: `${site.origin}/unload` });
      expect(outcome).toMatchObject({ status: "completed", final_url: `${site.origin}/plain` });
    },
    SLOW_MS,
  );

  test(
    "in a CPU loop costs the job its page.html, and nothing else: what it had loaded is kept",
    async () => {
      const { outcome, assets, documents, log } = await lane.run({
        url: `${site.origin}/busy`,
        options: { max_wait_seconds: 6 },
      });
      expect(outcome).toMatchObject({ status: "completed", error: null });
      expect(outcome.capture).toMatchObject({ page: null, lost: 0, late: 0 });
      expect(outcome.capture?.warnings?.join()).toContain("the page did not answer for 20 s");
      expect(documents.has("page.html")).toBe(false);
      expect(log.join("\n")).toContain("no page.html");
      expect(hasImage(assets)).toBe(true);
    },
    SLOW_MS,
  );

  test(
    "whose renderer is killed fails with what happened",
    async () => {
      const loaded = createLoaded();
      const { outcome, assets } = await lane.run({
        url: `${site.origin}/waits`,
        onBrowser: (browser) => void loaded.promise.then(() => killRenderers(browser)),
        ...loaded.hears,
      });
      expect(outcome.status).toBe("failed");
      expect(outcome.error).toContain("the page crashed in its renderer");
      expect(hasImage(assets)).toBe(true);
    },
    SLOW_MS,
  );

  test(
    "whose Chromium is killed fails with the signal",
    async () => {
      let browser: LaneBrowser | undefined;
      const { outcome } = await lane.run({
        url: `${site.origin}/waits`,
        onBrowser: (b) => {
          browser = b;
        },
        onLog: (line) =>
          line.startsWith("wait: load event") && browser && process.kill(browser.pid, "SIGKILL"),
      });
      expect(outcome.status).toBe("failed");
      expect(outcome.error).toContain("Chromium was killed by SIGKILL");
    },
    SLOW_MS,
  );

  test(
    "that leaves for a server that never answers is saved as it was",
    async () => {
      const { outcome, assets, documents } = await lane.run({
        url: `${site.origin}/to-silence`,
        options: { max_wait_seconds: 6 },
      });
      expect(outcome.status).toBe("completed");
      expect(documents.get("page.html")).toContain("/image.bmp");
      expect(hasImage(assets)).toBe(true);
    },
    SLOW_MS,
  );

  test(
    "is left when the job is cancelled, and what it had loaded is kept",
    async () => {
      const cancel = new AbortController();
      const loaded = createLoaded();
      void loaded.promise.then(() => cancel.abort());
      const { outcome, assets } = await lane.run({
        url: `${site.origin}/waits`,
        signal: cancel.signal,
        ...loaded.hears,
      });
      expect(outcome).toMatchObject({
        status: "failed",
        error: "the job was cancelled while it ran",
      });
      expect(hasImage(assets)).toBe(true);
    },
    SLOW_MS,
  );
});

describe("a body that does not end, or is too large", () => {
  test(
    "an endless document is a partial asset at max_wait_seconds",
    async () => {
      const { outcome, documents } = await lane.run({
        url: `${site.origin}/endless`,
        options: { wait_seconds: 5, max_wait_seconds: 6 },
      });
      expect(outcome).toMatchObject({ status: "completed", title: "Endless" });
      expect(outcome.capture).toMatchObject({ partial: 1, reasons: { timeout: 1 } });
      expect(documents.get("page.html")).toContain("<p>0</p>");
    },
    SLOW_MS,
  );

  test(
    "an event stream is never waited for, and kept in part",
    async () => {
      const { outcome, assets } = await lane.run({ url: `${site.origin}/events-page` });
      expect(outcome.status).toBe("completed");
      const stream = assets.find((a) => a.source_url.endsWith("/events"));
      expect(stream).toMatchObject({ partial: true, mime: "text/event-stream" });
      expect(stream?.ranges).toEqual([{ start: 0, end: (stream?.size ?? 0) - 1 }]);
      expect(outcome.capture?.reasons).toEqual({ timeout: 1 });
    },
    SLOW_MS,
  );

  test(
    "a camera stream is never waited for",
    async () => {
      const { outcome, assets } = await lane.run({ url: `${site.origin}/camera-page` });
      expect(outcome.status).toBe("completed");
      expect(assets.filter((a) => a.source_url.endsWith("/camera") && !a.partial)).toEqual([]);
    },
    SLOW_MS,
  );

  test(
    "a body that broke off is a partial asset with what came",
    async () => {
      const { outcome, assets } = await lane.run({ url: `${site.origin}/cut-page` });
      expect(outcome).toMatchObject({ status: "completed", title: "TypeError" });
      const cut = assets.find((a) => a.source_url.endsWith("/cut"));
      expect(cut).toMatchObject({ partial: true, ranges: [{ start: 0, end: 2 ** 20 - 1 }] });
      expect(outcome.capture?.reasons).toEqual({ aborted: 1 });
    },
    SLOW_MS,
  );

  test(
    "beyond the spool's limit bodies are lost as spool_full and the job goes on",
    async () => {
      const { outcome, assets } = await lane.run({
        url: `${site.origin}/large-page`,
        settings: { spool_max_bytes: 5 * 2 ** 20 },
        options: { max_wait_seconds: 6, wait_seconds: 5 },
      });
      expect(outcome.status).toBe("completed");
      expect(assets.every((a) => !a.source_url.endsWith("/large") || a.partial)).toBe(true);
      expect(outcome.capture?.reasons).toHaveProperty("spool_full");
    },
    SLOW_MS,
  );
});

/** What a renderer that is late tells of a page, or does not: a job must not be completed as if there had been nothing. */
describe("a page of which Chromium does not tell all", () => {
  const PAGE = "<!doctype html><title>told</title><link rel=icon href=data:,><p>words";
  let plain: SiteServer;
  beforeAll(async () => {
    plain = await startServer("127.0.0.1");
    plain.on("/chunked", (_q, res) => {
      // Without a length: nothing but its bytes says that it has any.
      res.writeHead(200, { "content-type": "text/html" });
      res.end(PAGE);
    });
  });
  afterAll(() => plain.stop());

  test(
    "is not opened while its network is not seen",
    async () => {
      const { outcome, assets } = await lane.run({
        url: `${plain.origin}/chunked`,
        onBrowser: ({ connection }) => {
          const send = connection.send.bind(connection);
          connection.send = (session, method, ...rest) =>
            method === "Network.enable" && session.target?.type === "page"
              ? Promise.reject(new DeadlineError("Network.enable", 60_000))
              : send(session, method, ...rest);
        },
      });
      expect(outcome.status).toBe("failed");
      expect(outcome.error).toContain("Chromium did not show the network of its page");
      expect(assets).toEqual([]);
    },
    SLOW_MS,
  );

  test(
    "keeps what came of its document, as a part, when neither its bytes nor its end are told",
    async () => {
      const { outcome } = await lane.run({
        url: `${plain.origin}/chunked`,
        options: { idle_seconds: 0.3, max_wait_seconds: 6 },
        onBrowser: ({ connection }) => {
          const session = connection.session.bind(connection);
          connection.session = (id) => {
            const found = session(id);
            if (found && !Object.hasOwn(found, "emit")) deafen(found);
            return found;
          };
        },
      });
      expect(outcome).toMatchObject({
        status: "completed",
        http_status: 200,
        capture: { seen: 1, captured: 0, partial: 1, lost: 0, reasons: { timeout: 1 } },
      });
    },
    SLOW_MS,
  );
});

const UNTOLD = ["Network.dataReceived", "Network.loadingFinished"];

/** From now on the session is not told of bytes and ends of requests. */
function deafen(session: CdpSession): void {
  const emit = session.emit.bind(session);
  session.emit = (event: string, params: unknown) => {
    if (!UNTOLD.includes(event)) emit(event, params);
  };
}
