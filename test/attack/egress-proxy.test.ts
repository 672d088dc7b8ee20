import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type JobLane, openJobLane } from "#test/support/rigs/lane-jobs.ts";
import { type SiteServer, startServer } from "#test/support/servers/site/server.ts";
import {
  startHttpUpstream,
  startSocksUpstream,
  type UpstreamProxy,
} from "#test/support/servers/upstream-proxies.ts";

const SLOW_MS = 240_000;
const LOGIN = { username: "anna", password: "pw-of-the-proxy" };
/** A lane that goes out through a proxy: it reaches nothing of the fleet through it, and gives its login to nobody else. */
// Only the proxies know where these are.
const NAMES = { "far.test": "127.0.0.1", "hub-alias.test": "127.0.0.1" };

let site: SiteServer;
let workers: UpstreamProxy;
let jobs: UpstreamProxy;
let lane: JobLane;

beforeAll(async () => {
  site = await startServer("127.0.0.1");
  workers = await startHttpUpstream({ names: NAMES, login: LOGIN });
  jobs = await startSocksUpstream({ names: NAMES, login: LOGIN });
  site.on("/page", (_req, res) => {
    res.writeHead(200, { "content-type": "text/html" });
    res.end(`<!doctype html><title>far</title><img src="/picture"><script>
      fetch("http://far.test:${site.port}/data");
      fetch("http://127.0.0.1:${site.port}/proxys-own", { mode: "no-cors" }).catch(() => {});
      fetch("http://169.254.169.254/latest", { mode: "no-cors" }).catch(() => {});
      fetch("http://hub.test:8000/api", { mode: "no-cors" }).catch(() => {});
    </script>`);
  });
  site.on("/picture", (_req, res) => {
    // Chromium breaks off what is no image as soon as it sees that.
    res.writeHead(200, { "content-type": "image/svg+xml" });
    res.end(`<svg xmlns="http://www.w3.org/2000/svg"><!--${"7".repeat(30_000)}--></svg>`);
  });
  site.on("/data", (_req, res) => void res.end("data"));
  lane = await openJobLane(
    {
      HUB_URL: "ws://hub.test:8000",
      SVC_PROXY: `http://${LOGIN.username}:${LOGIN.password}@127.0.0.1:${workers.port}`,
      SVC_PROXY_BYPASS: ".near.test",
    },
    async (host) => {
      if (host === "near.test" || host === "a.near.test") return ["127.0.0.1"];
      throw new Error(`${host} does not exist`);
    },
  );
}, 300_000);
afterAll(async () => {
  await lane?.close();
  await site?.stop();
  workers?.stop();
  jobs?.stop();
});

const url = () => `http://far.test:${site.port}/page`;
/** Without what Chromium asks for of its own. */
const asked = (...proxies: UpstreamProxy[]) =>
  proxies
    .flatMap((proxy) => proxy.asked)
    .filter(
      (place) => !/\.(google|googleapis|gstatic|googleusercontent|gvt1|gvt2)\.com:/.test(place),
    );
const forget = () => {
  for (const proxy of [workers, jobs]) proxy.asked.length = 0;
};

describe("a lane behind a proxy", () => {
  test(
    "captures through the worker's, which is asked for nothing of the fleet",
    async () => {
      forget();
      const { outcome, assets, log, documents } = await lane.run({ url: url() });
      expect(outcome).toMatchObject({ status: "completed", title: "far", http_status: 200 });
      expect(assets.map(({ source_url }) => new URL(source_url).pathname)).toContain("/picture");
      expect(new Set(asked(workers))).toEqual(new Set([`far.test:${site.port}`]));
      expect(asked(jobs)).toEqual([]);
      const told = log.join("\n");
      expect(told).toContain("refused to connect to 169.254.169.254:80");
      expect(told).toContain("refused to connect to hub.test:8000");
      expect(told).toContain("would mean the machine of the proxy");
      const { received_bytes = 0, sent_bytes = 0 } = outcome.capture?.traffic ?? {};
      expect(received_bytes).toBeGreaterThan(30_000);
      expect(received_bytes).toBeLessThan(60_000);
      expect(sent_bytes).toBeGreaterThan(500);
      expect(outcome.capture?.reasons).toMatchObject({ protected: 3 });
      const everything = JSON.stringify([outcome, told, [...documents.values()]]);
      expect(everything).not.toContain(LOGIN.password);
    },
    SLOW_MS,
  );

  test(
    "goes out through the job's own where it has one, and by itself where the bypass list says so",
    async () => {
      forget();
      const proxy = { server: `socks5://127.0.0.1:${jobs.port}`, ...LOGIN };
      const own = await lane.run({ url: url(), extras: { proxy } });
      expect(own.outcome).toMatchObject({ status: "completed", title: "far" });
      expect(own.log.join("\n")).toContain(`goes out through the proxy ${proxy.server}`);
      expect(own.log.join("\n")).not.toContain(LOGIN.password);
      expect(asked(workers)).toEqual([]);
      expect(jobs.asked).toContain(`far.test:${site.port}`);
      forget();
      const near = await lane.run({ url: `http://a.near.test:${site.port}/data` });
      expect(near.outcome).toMatchObject({ status: "completed", http_status: 200 });
      expect(asked(workers, jobs)).toEqual([]);
    },
    SLOW_MS,
  );

  test(
    "tells what its proxy was in the way of",
    async () => {
      const error = async (server: string, more: object = {}, target = url()) =>
        (await lane.run({ url: target, extras: { proxy: { server, ...more } } })).outcome.error;
      const socks = `socks5://127.0.0.1:${jobs.port}`;
      expect(await error(socks, { username: "anna", password: "no" })).toContain(
        `the proxy ${socks} does not accept the given user name and password (net::ERR_PROXY_AUTH_REQUESTED)`,
      );
      expect(await error("http://127.0.0.1:9")).toContain("ERR_PROXY_CONNECTION_FAILED");
      const http = `http://127.0.0.1:${workers.port}`;
      expect(await error(http, LOGIN, "http://nowhere.test/")).toContain("ERR_NAME_NOT_RESOLVED");
      // A job's proxy is judged as any other place.
      expect(await error("http://hub.test:8000")).toContain("is a hub of this fleet");
      expect(await error("http://169.254.169.254:80")).toContain("cloud metadata address");
    },
    SLOW_MS,
  );
});
