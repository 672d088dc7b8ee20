import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { pruneLogsOnce } from "#hub/pipeline/operations/service-logs.ts";
import { systemClock } from "#shared/kit/clock.ts";
import { silentLog } from "#shared/kit/log.ts";
import { workerSecret } from "#shared/kit/secret.ts";
import { issueAt } from "#test/support/clients/api.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";
import { freePort } from "#test/support/servers/ports.ts";
import { loadWorkerConfig } from "#worker/config.ts";
import { startServices } from "#worker/program/services.ts";
import { shipLogs } from "#worker/tasks/ship-logs.ts";

const SECRET = "secret-of-the-workers";
let hub: TestHub;
beforeAll(async () => {
  hub = await startTestHub({ env: { WORKER_SECRET: SECRET } });
});
afterAll(() => hub.close());

const worker = { "x-worker-secret": SECRET };
const ship = (body: unknown, headers: Record<string, string> = worker) =>
  hub.call("POST", "/api/v1/service-logs", body, { headers });
const read = async (query: string, of = hub) =>
  (await of.call("GET", `/api/v1/service-logs?${query}`)).body;
/** Young enough for the hub, which deletes old lines by itself. */
const BEGAN = Date.now() - 60_000;
const line = (n: number, fields: object = {}) => ({
  ts: new Date(BEGAN + n * 1_000).toISOString(),
  level: "info",
  message: `m${n}`,
  ...fields,
});
const messages = (page: { logs: { message: string }[] }) => page.logs.map(({ message }) => message);

/** Asks until it is so; each ask is a real call. */
async function until(query: string, is: (found: string[]) => boolean, of = hub): Promise<string[]> {
  for (const end = Date.now() + 60_000; ; await systemClock.sleep(20)) {
    const found = messages(await read(query, of));
    if (is(found)) return found;
    if (Date.now() > end) throw new Error(`not so: ${found.join()}`);
  }
}

describe("service logs (rules/pipeline-operations#service-logs)", () => {
  test("what is shipped is found by host, service, min_level, time and text, newest first (rules/pipeline-operations#service-logs)", async () => {
    const logs = [
      line(1, { level: "warn", fields: { task_id: "T-77" } }),
      line(2, { level: "debug" }),
      line(3, { level: "error" }),
      line(4),
    ];
    const { status, body } = await ship({ host: "h1", service: "worker", logs });
    expect([status, body]).toEqual([200, { stored: 3, min_level: "info" }]);
    await ship({ host: "h2", service: "agent", logs: [line(5)] });
    expect(messages(await read("host=h1"))).toEqual(["m4", "m3", "m1"]);
    expect(messages(await read("host=h1&min_level=warn"))).toEqual(["m3", "m1"]);
    expect(messages(await read("service=agent"))).toEqual(["m5"]);
    expect(messages(await read("host=h1&q=t-77"))).toEqual(["m1"]);
    const [second, fourth] = [line(2).ts, line(4).ts];
    expect(messages(await read(`host=h1&since=${second}&until=${fourth}`))).toEqual(["m3"]);
    expect((await read("host=h1&q=t-77")).logs).toEqual([
      {
        log_id: expect.any(Number),
        ts: line(1).ts,
        host: "h1",
        service: "worker",
        level: "warn",
        message: "m1",
        fields: { task_id: "T-77" },
      },
    ]);
  });

  test("pages follow each other by cursor to the last one", async () => {
    const logs = Array.from({ length: 7 }, (_, i) => line(i % 2, { message: `p${i}` }));
    await ship({ host: "pages", service: "worker", logs });
    const first = await read("host=pages&limit=3");
    const second = await read(`host=pages&limit=3&cursor=${first.next_cursor}`);
    const third = await read(`host=pages&limit=3&cursor=${second.next_cursor}`);
    expect([first, second, third].flatMap(messages)).toEqual("p5 p3 p1 p6 p4 p2 p0".split(" "));
    expect(third.next_cursor).toBeNull();
  });

  test("what came after a line is read by its id, however old it says it is (rules/pipeline-operations#service-logs)", async () => {
    await ship({ host: "tail", service: "worker", logs: [line(5), line(7)] });
    const { log_id } = (await read("host=tail")).logs[1];
    await ship({ host: "tail", service: "worker", logs: [line(3), line(9)] });
    expect(messages(await read(`host=tail&after=${log_id}`))).toEqual(["m9", "m7", "m3"]);
  });

  test("a time in the future is now: no line stays the newest forever", async () => {
    await ship({
      host: "ahead",
      service: "worker",
      logs: [line(0, { ts: "2999-01-01T00:00:00Z" })],
    });
    const { logs } = await read("host=ahead");
    expect(Date.parse(logs[0].ts)).toBeLessThanOrEqual(Date.now());
  });

  test("secrets of this process are masked a second time", async () => {
    const logs = [line(0, { message: `it is ${SECRET}`, fields: { text: SECRET, token: "x" } })];
    await ship({ host: "masked", service: "worker", logs });
    expect((await read("host=masked")).logs[0]).toMatchObject({
      message: "it is ***",
      fields: { text: "***", token: "***" },
    });
  });

  test("only who knows WORKER_SECRET may ship, and the API token is not asked of workers", async () => {
    const body = { host: "h", service: "worker", logs: [] };
    expect((await ship(body, {})).status).toBe(401);
    expect((await ship("{", { "x-worker-secret": "wrong" })).status).toBe(401);
    const own = await startTestHub({ mode: "control", env: { SVC_API_TOKEN: "t0k3n-of-people" } });
    const proof = { "x-worker-secret": workerSecret(undefined, "t0k3n-of-people") ?? "" };
    expect((await own.call("POST", "/api/v1/service-logs", body)).status).toBe(401);
    expect((await own.call("POST", "/api/v1/service-logs", body, { headers: proof })).status).toBe(
      200,
    );
    expect((await own.call("GET", "/api/v1/service-logs")).status).toBe(401);
    await own.close();
  });

  test.each<[string, unknown, number]>([
    ["1,001 lines", { host: "h", service: "s", logs: Array(1_001).fill(line(0)) }, 422],
    ["a level of one's own", { host: "h", service: "s", logs: [line(0, { level: "loud" })] }, 422],
    ["a time that is none", { host: "h", service: "s", logs: [line(0, { ts: "yesterday" })] }, 422],
    ["an unknown key", { host: "h", service: "s", logs: [], more: 1 }, 422],
    ["no host", { service: "s", logs: [] }, 400],
    ["a body of 3 MB", { host: "h".repeat(3 << 20), service: "s", logs: [] }, 413],
  ])("%s is refused", async (_what, body, status) => {
    expect((await ship(body)).status).toBe(status);
  });

  test.each([
    ["limit=0", "limit"],
    ["limit=1001", "limit"],
    ["limit=abc", "limit"],
    ["min_level=loud", "min_level"],
    ["since=yesterday", "since"],
    ["cursor=bm9uZQ", "cursor"],
  ])("GET ?%s is 422 naming it", async (query, name) => {
    const { status, body } = await hub.call("GET", `/api/v1/service-logs?${query}`);
    expect(status).toBe(422);
    expect(body).toMatchObject(issueAt("query", name));
  });

  test("the hub ships its own log and its control plane's, without a line per call (rules/pipeline-operations#service-logs)", async () => {
    const here = `host=${encodeURIComponent(hostname())}`;
    await until(`${here}&service=hub`, (found) => found.includes("hub started"));
    const slug = "told-in-the-log";
    const command = { executor_type: "command", executor_config: { argv: ["true"] } };
    await hub.call("POST", "/api/v1/workloads", { slug, ...command });
    await until(`${here}&service=control&q=${slug}`, (found) => found.includes("workload created"));
    expect(messages(await read("q=request%20answered"))).toEqual([]);
  });

  test("a worker ships its log over HTTP; what it says while the control plane is away comes later (rules/pipeline-operations#ship-logs)", async () => {
    // The same port after the restart.
    const own = await startTestHub({
      mode: "control",
      env: { SVC_PORT: String(freePort()) },
    });
    const given = { control_url: own.url, service: "worker", secret: null } as const;
    const rest = { api_token: null, clock: systemClock, log: silentLog, random: () => 0 };
    const shipped = shipLogs({ ...given, ...rest });
    const log = shipped.log.child({ worker_id: "w-ships" });
    log.info({}, "before");
    await until("q=w-ships", (found) => found.length === 1, own);
    await own.stop();
    log.warn({}, "meanwhile");
    await own.restart();
    expect(await until("q=w-ships", (found) => found.length === 2, own)).toContain("meanwhile");
    await shipped.stop();
    await own.close();
  });

  test("a whole worker ships what it says from its start to its end (rules/pipeline-operations#ship-logs)", async () => {
    const dir = await mkdtemp(join(tmpdir(), "flotilla-shipping-"));
    const env = { SVC_CONTROL_URL: hub.url, SVC_WORKER_ID: "w-whole", WORKER_SECRET: SECRET };
    const worker = await startServices({
      config: loadWorkerConfig({ ...env, SVC_DATA_DIR: dir, PATH: process.env.PATH }, {}),
      log: silentLog,
      clock: systemClock,
      version: "1",
      self: [],
    });
    await until("service=worker&q=w-whole", (found) => found.includes("joined the control plane"));
    await worker.stop();
    const found = messages(await read("service=worker&q=w-whole"));
    expect(found).toContain("pull worker started");
    await rm(dir, { recursive: true });
  });

  test("the setting service_log_level counts at once, for the store and for who ships (rules/pipeline-operations#write-a-setting)", async () => {
    const { settings } = hub.ctx.db;
    await settings.set("control.service_log_level", "error", Date.now());
    const logs = [line(1), line(2, { level: "warn" }), line(3, { level: "error" })];
    const { body } = await ship({ host: "quiet", service: "worker", logs });
    expect(body).toEqual({ stored: 1, min_level: "error" });
    await settings.set("control.service_log_level", "debug", Date.now());
    await ship({ host: "loud", service: "worker", logs: [line(4, { level: "debug" })] });
    expect(messages(await read("host=loud&min_level=debug"))).toEqual(["m4"]);
    await settings.delete("control.service_log_level");
  });

  test("retention: lines beyond the set days and rows go", async () => {
    const { db } = hub.ctx;
    const now = Date.now();
    const row = (ts: number) => ({
      ts,
      host: "old",
      service: "s",
      level: 20,
      message: "x",
      fields: {},
    });
    await db.service_logs.append([row(now - 8 * 86_400_000), row(now - 6 * 86_400_000)]);
    await pruneLogsOnce(hub.ctx, new AbortController().signal);
    expect((await read("host=old")).logs).toHaveLength(1);
    // The hub's own lines would come between the pruning and the look.
    await db.settings.set("control.service_log_level", "error", now);
    await db.settings.set("control.service_log_max_rows", 100, now);
    await db.service_logs.append(Array.from({ length: 1_300 }, (_, i) => row(now + i)));
    await pruneLogsOnce(hub.ctx, new AbortController().signal);
    expect(await db.service_logs.list({ limit: 3_000 })).toHaveLength(100);
  });
});
