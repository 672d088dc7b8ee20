import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdir } from "node:fs/promises";
import fc from "fast-check";
import type { EnvSource } from "#shared/kit/env.ts";
import { type FakeWorker, sha256 } from "#test/support/fakes/fake-worker.ts";
import {
  ANSWERS_500,
  ANYWHERE,
  asText,
  body,
  contentType,
  Detail,
  encode,
  headerValue,
  name,
  type Operation,
  readOperations,
  toText,
  value,
} from "#test/support/models/hostile-calls.ts";
import { sampleResult } from "#test/support/models/sample-result.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";
import { startPostgres, type TestPostgres } from "#test/support/servers/postgres.ts";

/**
 * Every operation of /openapi.json under hostile input: the answer has a documented status and the documented shape,
 * is never a 500, and no file appears outside the data directory.
 */

let hub: TestHub;
let worker: FakeWorker;
let operations: Operation[] = [];
let job_id = "";
let session_id = "";

const RUNS = Number(Bun.env.HOSTILE_RUNS ?? 30);

const startHub = async (env: EnvSource = {}) => {
  hub = await startTestHub({ env: { SVC_SUBMIT_WAIT_S: "0", SVC_LOG_LEVEL: "error", ...env } });
  // It refuses what the hub lets through, each in another way.
  const kinds = ["page", "invalid", "timeout", "gone", "broken"] as const;
  let calls = 0;
  worker = await hub.worker({
    lanes: 2,
    on_call: ({ action }) => {
      calls += 1;
      const kind = kinds[calls % 7] ?? null;
      return { ok: kind === null, kind, result: kind === null ? sampleResult(action) : null };
    },
  });
  job_id = (await hub.call("POST", "/jobs", { url: "http://site.test/" })).body.job_id;
  await worker.assigned.next();
  session_id = (await hub.call("POST", "/sessions", {})).body.session_id;
  operations = readOperations((await hub.call("GET", "/openapi.json")).body);
};

interface Call {
  url: string;
  init: RequestInit & { headers: Record<string, string> };
}

function callOf(operation: Operation): fc.Arbitrary<Call> {
  const known = (at: string): string[] => {
    if (at === "id" && operation.path.startsWith("/jobs")) return [job_id];
    if (at === "job_id") return [job_id];
    if (at === "sid") return [session_id];
    if (at === "id" || at === "worker_id") return ["w11"];
    return ["page.html", "a.png"];
  };
  const part = (at: string) => fc.oneof(name, fc.constantFrom(...known(at)));
  const paths = fc.record(
    Object.fromEntries(
      operation.parameters.filter((p) => p.in === "path").map((p) => [p.name, part(p.name)]),
    ),
  );
  const queries = fc.record(
    Object.fromEntries(
      operation.parameters.filter((p) => p.in === "query").map((p) => [p.name, asText]),
    ),
    { requiredKeys: [] },
  );
  const names = [
    "idempotency-key",
    "range",
    "if-range",
    "if-none-match",
    "accept",
    "x-lease-token",
    "x-sha256",
    "x-asset-meta",
    "authorization",
  ];
  const headers = fc.record(Object.fromEntries(names.map((n) => [n, headerValue])), {
    requiredKeys: [],
  });
  return fc.record({ paths, queries, headers, body, contentType }).map((input) => {
    let path = operation.path;
    for (const [at, text] of Object.entries(input.paths))
      path = path.replace(`{${at}}`, () =>
        operation.path === "/{target_url}" ? text.toWellFormed() : encode(text),
      );
    const query = Object.entries(input.queries)
      .map(([k, v]) => `${k}=${encode((v ?? "").slice(0, 2_000))}`)
      .join("&");
    const sends =
      operation.has_body || operation.method === "POST" || operation.method === "DELETE";
    return {
      url: `${path}${query && `?${query}`}`,
      init: {
        method: operation.method,
        headers: {
          ...input.headers,
          ...(sends && input.contentType !== "" ? { "content-type": input.contentType } : {}),
        },
        ...(sends ? { body: input.body } : {}),
      },
    };
  });
}

async function judge(operation: Operation, { url, init }: Call): Promise<void> {
  const sent = URL.canParse(hub.url + url) ? new URL(hub.url + url) : null;
  if (!sent || sent.origin !== new URL(hub.url).origin) return;
  const response = await fetch(hub.url + url, { ...init, redirect: "manual" });
  const text = await response.text();
  const { status } = response;
  if (!ANSWERS_500.test(operation.path)) expect(status).not.toBe(500);
  const is_json = response.headers.get("content-type")?.startsWith("application/json") ?? false;
  const parsed = is_json && text !== "" ? JSON.parse(text) : undefined;
  // `..` and the like are folded away on the way, and an empty name leaves no segment: then another path was meant.
  const path = url.split(/[?#]/)[0] ?? "";
  const same =
    sent.pathname === path && operation.path !== "/{target_url}" && !/\/(\/|$)/.test(path.slice(1));
  if (!same) {
    if (status >= 400) Detail.parse(parsed);
    return;
  }
  if (ANYWHERE.includes(status)) {
    Detail.parse(parsed);
    return;
  }
  expect([...operation.answers.keys()]).toContain(status);
  const check = operation.answers.get(status);
  // `/` answers browsers with a page.
  if (check && (is_json || !check.others)) check.schema.parse(parsed);
}

async function judgeEvery(runs: number): Promise<void> {
  expect(operations.length).toBeGreaterThan(20);
  for (const operation of operations) {
    await fc.assert(
      fc.asyncProperty(callOf(operation), async (call) => judge(operation, call)),
      { numRuns: runs },
    );
    // Some calls delete, cancel or drain it; the rest need one to aim at.
    if ((await hub.call("GET", `/sessions/${session_id}/state`)).status === 404) {
      await hub.call("POST", "/workers/w11/status", { status: "active" });
      for (const { session_id: sid } of (await hub.call("GET", "/sessions")).body.sessions)
        await hub.call("DELETE", `/sessions/${sid}`);
      await worker.settle();
      const { status, body } = await hub.call("POST", "/sessions", {});
      if (status === 201) session_id = body.session_id;
    }
    if ((await hub.call("GET", `/jobs/${job_id}`)).status === 404)
      job_id = (await hub.call("POST", "/jobs", { url: "http://site.test/" })).body.job_id;
  }
}

describe("on Postgres", () => {
  let server: TestPostgres;
  beforeAll(async () => {
    server = await startPostgres();
    await startHub({ SVC_DB_URL: await server.createDatabase() });
  }, 180_000);
  afterAll(async () => {
    await hub?.close();
    await server?.stop();
  }, 180_000);

  // Its rules for text and numbers are stricter than SQLite's.
  test("every operation answers hostile input with a documented status and shape", async () => {
    await judgeEvery(Math.ceil(RUNS / 4));
    expect((await hub.call("GET", "/health")).body).toMatchObject({ status: "ok" });
  }, 120_000);
});

describe("on SQLite", () => {
  beforeAll(() => startHub());
  afterAll(() => hub.close());

  test(
    "every operation answers hostile input with a documented status and shape",
    () => judgeEvery(RUNS),
    120_000,
  );

  test("with the worker's own token every upload of hostile names and metadata is refused or stored inside", async () => {
    const own = await startTestHub();
    const uploader = await own.worker();
    await own.call("POST", "/jobs", { url: "http://site.test/" });
    const job = await uploader.assigned.next();
    const { upload_token } = await uploader.registered;
    const meta = fc.record(
      {
        name,
        kind: fc.oneof(value, fc.constantFrom("image", "other")),
        mime: value,
        ext: value,
        source_url: fc.oneof(name, fc.constant("x")),
        page_url: fc.oneof(name, fc.constant("x")),
        status: fc.oneof(value, fc.constantFrom<unknown>(null, 200, 2 ** 40)),
        from_cache: fc.boolean(),
        from_service_worker: fc.boolean(),
        partial: fc.boolean(),
        ranges: fc.oneof(value, fc.constant([])),
      },
      { requiredKeys: ["from_cache", "from_service_worker", "partial"] },
    );
    const kind = fc.constantFrom("assets", "documents");
    await fc.assert(
      fc.asyncProperty(
        name,
        meta,
        kind,
        fc.uint8Array({ maxLength: 50 }),
        async (at, m, of, bytes) => {
          const url = `${own.url}/workers/w11/jobs/${job.job_id}/${of}/${encode(at)}`;
          const response = await fetch(url, {
            method: "PUT",
            body: bytes,
            headers: {
              Authorization: `Bearer ${upload_token}`,
              "X-Lease-Token": String(job.lease_token),
              "X-Sha256": sha256(bytes),
              "X-Asset-Meta": Buffer.from(toText(m)).toString("base64url").slice(0, 100_000),
            },
          });
          await response.text();
          expect([200, 400, 404, 405, 422]).toContain(response.status);
        },
      ),
      { numRuns: RUNS * 5 },
    );
    const files = await readdir(own.data_dir, { recursive: true });
    expect(await readdir(own.root)).toEqual(["data"]);
    await own.close();
    for (const file of files)
      expect(file).toMatch(
        /^(flotilla\.db.*|secret\.key|bundled-plugins(\/.*)?|objects(\/jobs(\/[0-9a-z]{14}(\/(page\.html|links\.json|assets(\/[^/]+)?))?)?)?|objects\/\.[^/]+(\/.*)?|kept(\/[^/]+)?)$/,
      );
  }, 120_000);

  test("a body of 10 MB is 413 or refused for what it is, on every operation that reads one", async () => {
    const big = JSON.stringify({ url: "x".repeat(10_000_000) });
    await hub.call("POST", "/workers/w11/status", { status: "active" });
    // Some things can be deleted though they are not there: a saved layout.
    const reads = ({ method, path }: Operation) =>
      method === "POST" || (method === "DELETE" && path.includes("{"));
    for (const operation of operations.filter(reads)) {
      const path = operation.path.replace(/\{[^}]+\}/g, "none");
      const answer = await hub.call(operation.method, path, big);
      // A session that is not there is 404 whatever is asked of it (rules/sessions#ended-sessions-are-404); a profile is no
      // JSON, cookies may be more. An administrator's call asks who it is first. Not every page has saved lists.
      const refusals = operation.path.startsWith("/api/v1/saved-lists/") ? [422] : [];
      expect([400, 401, 403, 404, 413, 415, ...refusals]).toContain(answer.status);
      Detail.parse(answer.body);
    }
  }, 120_000);

  test("after all that the hub is healthy, and wrote nothing outside its data directory", async () => {
    expect((await hub.call("GET", "/health")).body).toMatchObject({ status: "ok" });
    expect(await readdir(hub.root)).toEqual(["data"]);
  });
});
