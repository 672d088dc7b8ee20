import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { connect } from "node:net";
import type { EnvSource } from "#shared/kit/env.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";
import { startPostgres, type TestPostgres } from "#test/support/servers/postgres.ts";

/** What the pipeline answers to what it cannot take, on both databases; nothing of it is stored or lost. */

// biome-ignore lint/suspicious/noExplicitAny: an OpenAPI document has no type here
type Document = any;
const MB = 1024 * 1024;
const ADMIN = { SVC_ADMIN_PASSWORD: "bad-input-tests" };
const headers = { "x-admin-password": ADMIN.SVC_ADMIN_PASSWORD };
const command = { executor_type: "command", executor_config: { argv: ["true"] } };
const encoder = new TextEncoder();

function suite(start: () => Promise<EnvSource>, stop: () => Promise<unknown>): void {
  let hub: TestHub;
  let document: Document;
  let made = 0;
  beforeAll(async () => {
    hub = await startTestHub({ env: { ...ADMIN, ...(await start()) } });
    document = (await hub.call("GET", "/openapi.json")).body;
  }, 180_000);
  afterAll(async () => {
    await hub?.close();
    await stop();
  }, 180_000);

  const api = (method: string, path: string, body?: unknown, init?: RequestInit) =>
    hub.call(method, `/api/v1${path}`, body, init);
  async function addWorkload(): Promise<string> {
    const slug = `bad-${++made}`;
    expect((await api("POST", "/workloads", { slug, ...command })).status).toBe(201);
    return slug;
  }
  const total = async (slug: string): Promise<number> =>
    (await api("GET", `/workloads/${slug}/queue`)).body.total;
  const operations = () =>
    Object.entries<Document>(document.paths).flatMap(([path, methods]) =>
      Object.entries<Document>(methods).map(([method, operation]) => ({
        method: method.toUpperCase(),
        path,
        operation,
      })),
    );

  test("a batch of 10,001 tasks is 422 and stores none, one of 10,000 is taken whole (rules/pipeline-tasks#submit-a-batch)", async () => {
    const slug = await addWorkload();
    const items = Array.from({ length: 10_001 }, (_, i) => ({ pk: `p${i}` }));
    const batch = (list: unknown[]) =>
      api("POST", `/workloads/${slug}/tasks/batch`, { items: list });
    const { status, body } = await batch(items);
    expect([status, body.detail[0].loc]).toEqual([422, ["body", "items"]]);
    expect(await total(slug)).toBe(0);
    expect((await batch(items.slice(1))).body.submitted).toBe(10_000);
  });

  test("every list refuses a limit of 0, -1, abc and 100000 with 422 (rules/pipeline-api#lists-and-cursors)", async () => {
    const slug = await addWorkload();
    const lists = operations().filter(
      ({ method, path, operation }) =>
        method === "GET" &&
        path.startsWith("/api/v1/") &&
        operation.parameters?.some((p: Document) => p.in === "query" && p.name === "limit"),
    );
    expect(lists.length).toBeGreaterThanOrEqual(3);
    for (const { path } of lists)
      for (const limit of ["0", "-1", "abc", "1.5", "100000", "9007199254740993"]) {
        const asked = path.endsWith("/search") ? "q=words&" : "";
        const url = `${path.replace("{slug}", slug)}?${asked}limit=${limit}`;
        const { status, body } = await hub.call("GET", url, undefined, { headers });
        expect({ url, status }).toEqual({ url, status: 422 });
        expect(body.detail[0].loc).toEqual(["query", "limit"]);
      }
  });

  test("an unknown slug is 404 on every path of a workload", async () => {
    const slugs = ["none", "UPPER", "a%2Fb", "%00", "%ff", "%F0%9F%92%A5", "x".repeat(5_000)];
    const paths = operations().filter(({ path }) => path.startsWith("/api/v1/workloads/{slug}"));
    expect(paths.length).toBeGreaterThanOrEqual(12);
    for (const { method, path, operation } of paths)
      for (const slug of slugs) {
        const url = path.replace("{slug}", slug).replace("{pk}", "a").replace("{version}", "1");
        const body = operation.requestBody?.content["application/json"]?.example;
        const answer = await hub.call(method, url, body);
        expect({ method, url, status: answer.status }).toEqual({ method, url, status: 404 });
        expect(answer.body.detail).toBe("workload not found");
      }
  });

  test("a slug that exists is 409, an unknown key 422 naming it, also below executor_config (rules/pipeline-workloads#create-a-workload)", async () => {
    const slug = await addWorkload();
    expect((await api("POST", "/workloads", { slug, ...command })).status).toBe(409);
    for (const [more, loc] of [
      [{ colour: "red" }, ["colour"]],
      [{ executor_config: { argv: ["a"], colour: 1 } }, ["executor_config", "colour"]],
      [{ executor_config: { argv: ["a\u0000b"] } }, ["executor_config", "argv", 0]],
      [
        { executor_config: { argv: ["a"], env: { "A=B": "c" } } },
        ["executor_config", "env", "A=B"],
      ],
      [{ priority: 1e7 }, ["priority"]],
      [{ lease_secs: 1.5 }, ["lease_secs"]],
      [{ timeout_s: -1 }, ["timeout_s"]],
      [{ rate_limit: { count: 0, per_s: 1 } }, ["rate_limit", "count"]],
    ] as const) {
      const answer = await api("POST", "/workloads", { slug: "never", ...command, ...more });
      expect(answer.status).toBe(422);
      expect(answer.body.detail[0].loc).toEqual(["body", ...loc]);
    }
    expect((await api("GET", "/workloads/never")).status).toBe(404);
  });

  test("peek with a state that does not exist is 422", async () => {
    const slug = await addWorkload();
    for (const state of ["broken", "", "PENDING", "READY", "%00"]) {
      const { status, body } = await api("GET", `/workloads/${slug}/queue/peek?state=${state}`);
      expect([status, body.detail[0].loc]).toEqual([422, ["query", "state"]]);
    }
  });

  test("a key with slashes, dots, quotes or any letters is one key on every path", async () => {
    const slug = await addWorkload();
    const pks = ["a/b", "../../etc", "/", "a?b#c", "%2F", "'; drop table tasks; --", "💥é", " a "];
    for (const pk of pks) {
      expect((await api("POST", `/workloads/${slug}/tasks`, { pk })).body.submitted).toBe(1);
      expect((await api("POST", `/workloads/${slug}/tasks`, { pk })).body.duplicates).toBe(1);
    }
    const { body } = await api("GET", `/workloads/${slug}/queue/peek`);
    expect(body.rows.map((row: { pk: string }) => row.pk)).toEqual(pks);
    for (const pk of pks) {
      const drop = () => api("DELETE", `/workloads/${slug}/queue/${encodeURIComponent(pk)}`);
      expect({ pk, status: (await drop()).status }).toEqual({ pk, status: 204 });
      expect((await drop()).status).toBe(404);
    }
    for (const nothing of ["%00", "a%00b", "%ff"])
      expect((await api("DELETE", `/workloads/${slug}/queue/${nothing}`)).status).toBe(404);
    expect((await api("GET", `/workloads/${slug}/runs?pk=%00`)).status).toBe(422);
    expect(await total(slug)).toBe(0);
  });

  test("a key or an extra that breaks a rule is 422 naming it, and no task of its batch is stored", async () => {
    const slug = await addWorkload();
    const deep = `{"a":${"[".repeat(505)}${"]".repeat(505)}}`;
    for (const [item, field] of [
      ['{"pk":""}', "pk"],
      ['{"pk":5}', "pk"],
      ['{"pk":"a\\u0000b"}', "pk"],
      ['{"pk":"\\ud800"}', "pk"],
      [`{"pk":"${"x".repeat(1_025)}"}`, "pk"],
      ['{"pk":"a","priority":2147483648}', "priority"],
      ['{"pk":"a","priority":1e999}', "priority"],
      ['{"pk":"a","priority":0.5}', "priority"],
      ['{"pk":"a","max_attempts":0}', "max_attempts"],
      ['{"pk":"a","max_attempts":9007199254740993}', "max_attempts"],
      ['{"pk":"a","run_at":"tomorrow"}', "run_at"],
      ['{"pk":"a","run_at":"+275760-09-13T00:00:00Z"}', "run_at"],
      ['{"pk":"a","extra":[]}', "extra"],
      [`{"pk":"a","extra":${deep}}`, "extra"],
      [`{"pk":"a","extra":{"t":"${"x".repeat(10 * MB)}"}}`, "extra"],
      ['{"pk":"a","__proto__":{}}', "__proto__"],
    ] as const) {
      const text = `{"items":[{"pk":"good"},${item}]}`;
      const { status, body } = await api("POST", `/workloads/${slug}/tasks/batch`, text);
      expect([status, body.detail[0]?.loc]).toEqual([422, ["body", "items", 1, field]]);
    }
    expect(await total(slug)).toBe(0);
  });

  test("10 MB of extra is 413 on its own, and 65 MB of batch too", async () => {
    const slug = await addWorkload();
    const task = (bytes: number) => ({ pk: "a", extra: { t: "x".repeat(bytes) } });
    expect((await api("POST", `/workloads/${slug}/tasks`, task(10 * MB))).status).toBe(413);
    const items = [task(65 * MB)];
    expect((await api("POST", `/workloads/${slug}/tasks/batch`, { items })).status).toBe(413);
    expect(await total(slug)).toBe(0);
  });

  test("NUL and half surrogates inside extra are kept as U+FFFD, everything else as it was sent", async () => {
    const slug = await addWorkload();
    const extra = { text: "a\u0000b\ud800c", "k\u0000": "💥\u2028\\u0000", n: 1e21, __proto: [] };
    await api("POST", `/workloads/${slug}/tasks`, { pk: "a", extra });
    const { body } = await api("GET", `/workloads/${slug}/queue/peek`);
    const clean = { text: "a\ufffdb\ufffdc", "k\ufffd": "💥\u2028\\u0000", n: 1e21, __proto: [] };
    expect(body.rows[0].extra).toEqual(clean);
  });

  test("bytes that are no UTF-8 or no JSON are 400, another content type 415, and none is stored", async () => {
    const slug = await addWorkload();
    const url = `${hub.url}/api/v1/workloads/${slug}/tasks`;
    const send = async (body: string | Uint8Array<ArrayBuffer>, type = "application/json") => {
      const answer = await fetch(url, { method: "POST", body, headers: { "content-type": type } });
      const { detail } = (await answer.json()) as { detail: unknown };
      return [answer.status, detail];
    };
    const bytes = Uint8Array.from([...encoder.encode('{"pk":"'), 0xff, ...encoder.encode('"}')]);
    expect(await send(bytes)).toEqual([400, "body is not valid UTF-8"]);
    for (const text of ["", "{", "nope", '{"pk":"a"', "\u0000", "[".repeat(500)])
      expect(await send(text)).toEqual([400, "body is not valid JSON"]);
    expect(await send("{}")).toEqual([400, "body.pk is required"]);
    for (const [text, type] of [
      ["[]", "application/json"],
      ["null", "application/json"],
    ] as const)
      expect((await send(text, type))[0]).toBe(422);
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/xml"])
      expect((await send('{"pk":"a"}', type))[0]).toBe(415);
    expect(await total(slug)).toBe(0);
  });

  test("a body that is cut off stores nothing", async () => {
    const slug = await addWorkload();
    const { hostname, port } = new URL(hub.url);
    const items = '{"items":[{"pk":"a"},{"pk":"b"}]}';
    for (const kept of [1, 20, items.length]) {
      const socket = connect(Number(port), hostname);
      socket.on("error", () => {});
      socket.write(
        `POST /api/v1/workloads/${slug}/tasks/batch HTTP/1.1\r\nHost: ${hostname}\r\n` +
          `Content-Type: application/json\r\nContent-Length: ${items.length + 1}\r\n\r\n` +
          items.slice(0, kept),
      );
      const closed = new Promise((resolve) => socket.once("close", resolve));
      socket.end();
      socket.resume();
      await closed;
    }
    expect(await total(slug)).toBe(0);
  });

  test("numbers of runs and pages that cannot be are refused or not found", async () => {
    for (const id of ["0", "-1", "1.5", "9007199254740993", "1e308"])
      expect((await api("GET", `/runs/${id}`)).status).toBe(404);
    expect((await api("GET", "/runs/abc")).status).toBe(422);
    for (const query of ["before=0", "before=abc", "before=1e308", "success=maybe", "pk="])
      expect((await api("GET", `/runs?${query}`)).status).toBe(422);
    const slug = await addWorkload();
    for (const offset of ["-1", "1.5", "99999999999"])
      expect((await api("GET", `/workloads/${slug}/queue/peek?offset=${offset}`)).status).toBe(422);
    expect((await api("DELETE", `/workloads/${slug}?force=maybe`)).status).toBe(422);
  });

  test("an output or emitted task that could not be stored is left out of its run, which stays a success", async () => {
    const slug = await addWorkload();
    await api("POST", `/workloads/${slug}/tasks/batch`, { items: [{ pk: "a" }, { pk: "b" }] });
    const hello = { incarnation: `hostile-${made}`, host: "h", slots: 2, version: "1" };
    await api("POST", "/workers/hostile/register", hello);
    await api("POST", "/workers/hostile/filter", { op: "replace", workloads: [slug] });
    const { incarnation } = hello;
    const claimed = await api("POST", "/workers/hostile/claim", { incarnation, slots: 2 });
    const [a, b] = claimed.body.batches.flatMap((batch: Document) => batch.tasks);
    const done = (task: Document, output: string) =>
      `{"task_id":${task.task_id},"epoch":${task.epoch},"duration_ms":1,"output":${output}}`;
    const deep = "[".repeat(505) + "]".repeat(505);
    const emit = [{ workload: slug, pk: "c", extra: { t: "x".repeat(2 * MB) } }];
    const items = [done(a, deep), done(b, JSON.stringify({ n: 1, emit }))];
    const report = `{"incarnation":"${incarnation}","items":[${items}]}`;
    const { status, body } = await api("POST", "/workers/hostile/complete", report);
    expect([status, body.items.map((item: Document) => item.status)]).toEqual([200, ["ok", "ok"]]);
    const { runs } = (await api("GET", `/workloads/${slug}/runs`)).body;
    const of = (pk: string) => runs.find((run: Document) => run.pk === pk);
    expect(of("a")).toMatchObject({ success: true, output_json: null, truncated: true });
    expect(of("a").stderr).toContain("more than 500 levels deep");
    expect(of("b")).toMatchObject({ success: true, output_json: { n: 1, emit }, truncated: false });
    expect(await total(slug)).toBe(0);
  });
}

describe("on SQLite", () =>
  suite(
    async () => ({}),
    async () => {},
  ));
describe("on Postgres", () => {
  let server: TestPostgres;
  suite(
    async () => {
      server = await startPostgres();
      return { SVC_DB_URL: await server.createDatabase() };
    },
    async () => server?.stop(),
  );
});
