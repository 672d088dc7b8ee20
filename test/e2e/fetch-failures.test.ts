import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type JobLane, openJobLane } from "#test/support/rigs/lane-jobs.ts";
import { startTroubleSite, type TroubleSite } from "#test/support/servers/site/trouble.ts";

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

/** A port that nothing listens on. */
async function closedPort(): Promise<number> {
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
  const { port } = server;
  await server.stop(true);
  return port ?? 0;
}

describe("a job whose page cannot be opened fails with a sentence and leaves the lane warm", () => {
  test(
    "DNS failure",
    async () => {
      const url = "http://no-such-host.invalid/";
      const { outcome } = await lane.run({ url });
      expect(outcome).toMatchObject({ status: "failed", stage: "navigate", http_status: null });
      expect(outcome.error).toStartWith(
        `could not open ${url}: the host name no-such-host.invalid does not resolve`,
      );
    },
    SLOW_MS,
  );

  test(
    "refused connection",
    async () => {
      const { outcome } = await lane.run({ url: `http://127.0.0.1:${await closedPort()}/` });
      expect(outcome.status).toBe("failed");
      expect(outcome.error).toContain("refused the connection");
    },
    SLOW_MS,
  );

  test(
    "TLS error",
    async () => {
      const { outcome } = await lane.run({ url: site.origin.replace("http:", "https:") });
      expect(outcome.status).toBe("failed");
      expect(outcome.error).toContain("the TLS connection to 127.0.0.1");
    },
    SLOW_MS,
  );

  test(
    "redirect loop",
    async () => {
      const { outcome } = await lane.run({ url: `${site.origin}/loop` });
      expect(outcome.status).toBe("failed");
      expect(outcome.error).toContain("redirects in a loop");
    },
    SLOW_MS,
  );

  test.each([
    { wait_seconds: 20, max_wait_seconds: 1, limit: "max_wait_seconds" },
    { wait_seconds: 2, max_wait_seconds: 60, limit: "wait_seconds" },
  ])(
    "no answer within $limit",
    async ({ limit, ...options }) => {
      const { outcome } = await lane.run({ url: `${site.origin}/silent`, options });
      expect(outcome).toMatchObject({ status: "failed", http_status: null });
      const wait = Math.min(options.wait_seconds, options.max_wait_seconds);
      expect(outcome.error).toContain(`no answer within ${wait} s: raise ${limit} or check`);
    },
    SLOW_MS,
  );
});

describe("an HTTP error is an answer: the job completes with its status", () => {
  test(
    "404 with a page",
    async () => {
      const { outcome, assets, documents } = await lane.run({ url: `${site.origin}/missing` });
      expect(outcome).toMatchObject({ status: "completed", error: null, http_status: 404 });
      expect(
        assets.some((a) => a.source_url === `${site.origin}/missing` && a.status === 404),
      ).toBe(true);
      expect(documents.get("page.html")).toContain("not found");
    },
    SLOW_MS,
  );

  test(
    "500 without a body",
    async () => {
      const { outcome } = await lane.run({ url: `${site.origin}/broken` });
      expect(outcome).toMatchObject({ status: "completed", http_status: 500 });
    },
    SLOW_MS,
  );

  test(
    "204",
    async () => {
      const { outcome } = await lane.run({ url: `${site.origin}/no-content` });
      expect(outcome).toMatchObject({ status: "completed", http_status: 204 });
    },
    SLOW_MS,
  );

  test.each([
    { headless: true, capture_assets: true },
    { headless: false, capture_assets: true },
    { headless: false, capture_assets: false },
  ])(
    "401 that asks for a password (%o)",
    async ({ headless, capture_assets }) => {
      const { outcome, log } = await lane.run({
        url: `${site.origin}/login`,
        headless,
        options: { capture_assets, max_wait_seconds: 6 },
      });
      expect(outcome).toMatchObject({ status: "completed", http_status: 401 });
      expect(log.join()).toContain("it asks for a user name and a password");
    },
    SLOW_MS,
  );
});

describe("a URL that is a download", () => {
  test(
    "completes with the file as its asset",
    async () => {
      const { outcome, assets } = await lane.run({ url: `${site.origin}/file.zip` });
      expect(outcome).toMatchObject({ status: "completed", http_status: 200 });
      expect(assets).toHaveLength(1);
      expect(assets[0]).toMatchObject({ name: "archive.zip", size: 3 * 2 ** 20, partial: false });
      expect(outcome.capture).toMatchObject({ seen: 1, captured: 1 });
    },
    SLOW_MS,
  );

  test(
    "is waited for",
    async () => {
      const { outcome, assets } = await lane.run({
        url: `${site.origin}/gated.zip`,
        onLog: (line) => line.includes("download of") && site.openGate(),
      });
      expect(outcome.status).toBe("completed");
      expect(assets[0]).toMatchObject({ name: "gated.zip", size: 2 ** 20 });
    },
    SLOW_MS,
  );

  test(
    "is not stored with capture_assets false",
    async () => {
      const { outcome, assets } = await lane.run({
        url: `${site.origin}/file.zip`,
        options: { capture_assets: false },
      });
      expect(outcome.status).toBe("completed");
      expect(assets).toEqual([]);
    },
    SLOW_MS,
  );
});
