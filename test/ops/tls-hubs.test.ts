import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connectFakeWorker, type FakeWorker, resumeOf } from "#test/support/fakes/fake-worker.ts";
import { binaryRig } from "#test/support/rigs/binary.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { TARGET } from "#test/support/rigs/hub.ts";
import type { Program } from "#test/support/rigs/program.ts";
import { newAuthority, type TestAuthority } from "#test/support/servers/certificates.ts";
import { freePort } from "#test/support/servers/ports.ts";
import { startPostgres, type TestPostgres } from "#test/support/servers/postgres.ts";
import { startRedis, type TestRedis } from "#test/support/servers/redis.ts";
import { startHaproxy, startNginx } from "#test/support/servers/router.ts";

/** Two hubs that speak TLS, with an authority of their own: between them, and behind a router. */

const flotilla = binaryRig();
const START_MS = 180_000;
/** That every hub's certificate has, beside where it is reached. */
const NAME = "flotilla.test";
const SECRET = "of the fleet";
let dir: string;
let authority: TestAuthority;
let ca: string;
let postgres: TestPostgres;
let redis: TestRedis;
let urls: string[];
const hubs: Program[] = [];

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "flotilla-tls-hubs-"));
  authority = await newAuthority(dir);
  ca = await Bun.file(authority.ca).text();
  [postgres, redis] = await Promise.all([startPostgres(), startRedis()]);
  const db_url = await postgres.createDatabase();
  const files = await authority.sign("hub", { names: `DNS:${NAME},IP:127.0.0.1` });
  const start = async (n: number) => {
    const port = freePort();
    const hub = flotilla.start(["hub", "--host", "127.0.0.1", "--port", String(port)], {
      cwd: dir,
      env: {
        SVC_TLS_CERT: files.cert,
        SVC_TLS_KEY: files.key,
        SVC_TLS_CA: authority.ca,
        SVC_DB_URL: db_url,
        SVC_REDIS_URL: redis.url,
        WORKER_SECRET: SECRET,
        SVC_DATA_DIR: join(dir, `hub${n}`),
        SVC_OBJECTS_URL: `file:${join(dir, "objects")}`,
        SVC_PLUGINS_DIR: join(dir, "plugins"),
        SVC_DRAIN_TIMEOUT_S: "0",
      },
    });
    hubs.push(hub);
    await hub.says("hub started", START_MS);
    return `https://127.0.0.1:${port}`;
  };
  urls = [await start(0), await start(1)];
}, 2 * START_MS);
afterAll(async () => {
  for (const hub of hubs) await flotilla.end(hub, "SIGTERM");
  await Promise.all([postgres?.stop(), redis?.stop()]);
  rmSync(dir, { recursive: true, force: true });
}, 180_000);

const ask = async (url: string, method = "GET", json?: object) => {
  const answer = await fetch(url, {
    method,
    tls: { ca },
    signal: AbortSignal.timeout(60_000),
    ...(json && { body: JSON.stringify(json), headers: { "content-type": "application/json" } }),
  });
  // biome-ignore lint/suspicious/noExplicitAny: answers of every shape
  const body: any = await answer.json().catch(() => null);
  return { status: answer.status, body };
};
const worker = (url: string, worker_id: string, more = {}): FakeWorker =>
  connectFakeWorker(url, {
    worker_id,
    instance_id: worker_id,
    secret: SECRET,
    resume: null,
    ...more,
    ...(url.startsWith("https:") && { ca }),
  });

test(
  "a hub passes calls, uploads and links on to its peer over TLS",
  async () => {
    const [a = "", b = ""] = urls;
    const old = worker(a, "w1");
    await old.registered;
    const { job_id, session_id } = (await ask(`${a}/jobs`, "POST", { url: TARGET })).body;
    const assigned = await old.assigned.next();
    expect((await ask(`${b}/sessions/${session_id}/state`)).status).toBe(200);
    const hubOfLink = async () => (await ask(`${b}/workers`)).body.workers[0].link_hub;
    const its_hub = await hubOfLink();
    // Its network goes away, and it comes back by the other hub, which passes its socket on.
    const resume = await resumeOf(old);
    old.socket.terminate();
    const again = worker(b, "w1", { resume });
    expect((await again.registered).resumed).toBeDefined();
    expect(await hubOfLink()).toBe(its_hub);
    expect((await again.putAsset(assigned, "body of a picture")).status).toBe(200);
    again.finish(assigned);
    const job = await until("the end of the job", 60_000, async () => {
      const { body } = await ask(`${b}/jobs/${job_id}`);
      return body.status === "running" ? null : body;
    });
    expect(job).toMatchObject({ status: "completed", asset_count: 1 });
    await again.close();
  },
  START_MS,
);

describe.each(["nginx", "haproxy"] as const)("%s", (program) => {
  const start = (to: string, name: string) =>
    program === "nginx"
      ? startNginx(urls, undefined, { ca: to, name })
      : startHaproxy(urls, { tls: { ca: to, name } });

  test(
    "before hubs that speak TLS: calls, a worker's link and its uploads",
    async () => {
      const router = await start(authority.ca, NAME);
      try {
        await until(
          "a hub",
          60_000,
          async () => (await ask(`${router.url}/health`)).status === 200,
        );
        const linked = worker(router.url, `w-${program}`);
        await linked.registered;
        const { body } = await ask(`${router.url}/jobs`, "POST", { url: TARGET });
        const assigned = await linked.assigned.next();
        expect((await linked.putAsset(assigned, "body of a picture")).status).toBe(200);
        linked.finish(assigned);
        await until("the end of the job", 60_000, async () => {
          const job = await ask(`${router.url}/jobs/${body.job_id}`);
          return job.body.status === "completed";
        });
        await linked.close();
      } finally {
        await router.stop();
      }
    },
    START_MS,
  );

  test(
    "does not speak with hubs that have another name, or are signed by somebody else",
    async () => {
      const stranger = await newAuthority(mkdtempSync(join(dir, "stranger-")));
      for (const [to, name] of [
        [authority.ca, "another.test"],
        [stranger.ca, NAME],
      ] as const) {
        const router = await start(to, name);
        try {
          const { status } = await ask(`${router.url}/jobs`);
          expect([502, 503]).toContain(status);
        } finally {
          await router.stop();
        }
      }
    },
    START_MS,
  );
});
