import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdir } from "node:fs/promises";
import fc from "fast-check";
import { z } from "zod";
import type { EnvSource } from "#shared/kit/env.ts";
import { type FakeWorker, sha256 } from "#test/support/fakes/fake-worker.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";
import { startPostgres, type TestPostgres } from "#test/support/servers/postgres.ts";

/**
 * Every operation of /openapi.json under hostile input: the answer has a documented status and the documented shape,
 * is never a 500, and no file appears outside the data directory.
 */

interface Operation {
  method: string;
  path: string;
  parameters: { name: string; in: string }[];
  has_body: boolean;
  /** Status → check of its JSON body; null where the body is no JSON. */
  /** Schemas of JSON answers; `others`: it may be no JSON. */
  answers: Map<number, { schema: z.ZodType; others: boolean } | null>;
}

// biome-ignore lint/suspicious/noExplicitAny: an OpenAPI document has no type here
type Document = any;

/** Answers that any call may get; described once for the whole API. */
const ANYWHERE = [400, 401, 403, 405, 421];
const Detail = z.object({ detail: z.unknown() });

function readOperations(document: Document): Operation[] {
  const $defs = JSON.parse(
    JSON.stringify(document.components.schemas).replaceAll("#/components/schemas/", "#/$defs/"),
  );
  const check = (schema: unknown) => {
    const text = JSON.stringify(schema).replaceAll("#/components/schemas/", "#/$defs/");
    return z.fromJSONSchema({ ...JSON.parse(text), $defs });
  };
  return Object.entries<Document>(document.paths).flatMap(([path, methods]) =>
    Object.entries<Document>(methods).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      parameters: operation.parameters ?? [],
      has_body: operation.requestBody !== undefined,
      answers: new Map(
        Object.entries<Document>(operation.responses).map(([status, { content }]) => {
          const schema = content?.["application/json"]?.schema;
          const others = Object.keys(content ?? {}).length > 1;
          return [Number(status), schema ? { schema: check(schema), others } : null];
        }),
      ),
    })),
  );
}

let hub: TestHub;
let worker: FakeWorker;
let operations: Operation[] = [];
let job_id = "";
let session_id = "";

const RUNS = Number(Bun.env.HOSTILE_RUNS ?? 60);

const startHub = async (env: EnvSource = {}) => {
  hub = await startTestHub({ env: { SVC_SUBMIT_WAIT_S: "0", SVC_LOG_LEVEL: "error", ...env } });
  // It refuses what the hub lets through, each in another way.
  const kinds = ["page", "invalid", "timeout", "gone", "broken"] as const;
  let calls = 0;
  worker = await hub.worker({
    lanes: 2,
    on_call: () => {
      calls += 1;
      const kind = kinds[calls % 7] ?? null;
      return { ok: kind === null, kind, result: null };
    },
  });
  job_id = (await hub.call("POST", "/jobs", { url: "http://site.test/" })).body.job_id;
  await worker.assigned.next();
  session_id = (await hub.call("POST", "/sessions", {})).body.session_id;
  operations = readOperations((await hub.call("GET", "/openapi.json")).body);
};

const NAMES = [
  "..",
  "../..",
  "../../etc/passwd",
  "..\\..\\x",
  "%2e%2e",
  "%252e%252e%252f",
  ".",
  "",
  " ",
  "a\u0000b",
  "\u0000",
  "con",
  "nul.txt",
  "a/b/c",
  "*",
  "?",
  "#",
  "%",
  "%zz",
  "'; drop table jobs; --",
  "$(x)`x`",
  "\ud800",
  "ＡＢＣ",
  "é́",
  "💥".repeat(40),
  "x".repeat(5_000),
  "-1",
  "1e309",
  "9007199254740993",
  "null",
  "undefined",
  "__proto__",
  "constructor",
  "file:///etc/passwd",
  "javascript:alert(1)",
  "http://site.test/",
  "https://[::1",
  "http://%00/",
  "http://site.test:99999/",
  "//site.test",
  "data:text/html,x",
  "https:/a b",
  `http://site.test/${"y".repeat(3_000)}`,
];
const name = fc.oneof(fc.constantFrom(...NAMES), fc.string({ unit: "binary", maxLength: 40 }));
const value = fc.oneof(
  name,
  fc.anything({ withNullPrototype: false, maxDepth: 2 }),
  fc.constantFrom<unknown>(
    -1,
    0,
    1.5,
    1e308,
    -1e308,
    2 ** 53,
    Number.MAX_VALUE,
    true,
    [],
    {},
    null,
  ),
  fc.constantFrom("x".repeat(100_000), `http://site.test/${"a".repeat(100_000)}`),
);
const OPTION_KEYS = [
  "mode",
  "goal",
  "max_codegen_attempts",
  "attempt_timeout_s",
  "rerun_from",
  "code",
  "wait_seconds",
  "scroll",
  "scroll_step",
  "referer",
  "cookies_from",
  "use_profile",
  "attach",
  "fetch_recipe",
  "keep_session",
  "headless",
  "min_asset_size_bytes",
  "toString",
  "__proto__",
];
const json = fc.oneof(
  fc.record(
    {
      url: fc.oneof(value, fc.constant("http://site.test/")),
      options: fc.oneof(
        value,
        fc.dictionary(fc.constantFrom(...OPTION_KEYS), value, { maxKeys: 4 }),
      ),
      status: fc.oneof(value, fc.constantFrom("active", "drain")),
      extra: value,
    },
    { requiredKeys: [] },
  ),
  value,
);
const toText = (v: unknown): string => {
  try {
    return JSON.stringify(v) ?? "undefined";
  } catch {
    return "unserialisable"; // bigint, cycles
  }
};
const asText = value.map((v) => (typeof v === "string" ? v : toText(v)));
const body = fc.oneof(
  { weight: 6, arbitrary: json.map(toText) },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      "",
      "{",
      "nope",
      "[".repeat(50_000),
      '{"url":"http://x/","url":1}',
      '{"__proto__":{"url":1}}',
      "\u0000",
      "\ufeff{}",
      '{"url":"\\ud800"}',
      '{"url":"http://x/\\u0000"}',
      "1e999",
      '"',
    ),
  },
  { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 200 }) },
);
const contentType = fc.oneof(
  { weight: 8, arbitrary: fc.constant("application/json") },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      "",
      "text/plain",
      "application/json; charset=utf-16",
      "multipart/form-data; boundary=x",
      "APPLICATION/JSON",
      "x",
      "application/x-www-form-urlencoded",
    ),
  },
);
/** What a header can carry at all. */
const headerValue = fc.oneof(
  fc.constantFrom(
    "*",
    "bytes=0-0",
    "bytes=-1",
    "bytes=99999999999999999999-",
    'W/"x"',
    "a".repeat(2_000),
    "ÿ",
    "1",
  ),
  fc.string({ maxLength: 30 }).map((s) => s.replace(/[^\x20-\x7e]/g, "").trim()),
);

const encode = (text: string) => encodeURIComponent(text.toWellFormed());

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
  expect(status).not.toBe(500);
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
  }, 60_000);
  afterAll(async () => {
    await hub?.close();
    await server?.stop();
  }, 60_000);

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
        /^(flotilla\.db.*|secret\.key|objects(\/jobs(\/[0-9a-z]{14}(\/(page\.html|links\.json|assets(\/[^/]+)?))?)?)?|objects\/\.[^/]+(\/.*)?|kept(\/[^/]+)?)$/,
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
      // JSON, cookies may be more. An administrator's call asks who it is first.
      expect([400, 401, 403, 404, 413, 415]).toContain(answer.status);
      Detail.parse(answer.body);
    }
  }, 120_000);

  test("after all that the hub is well, and wrote nothing beside its data directory", async () => {
    expect((await hub.call("GET", "/health")).body).toMatchObject({ status: "ok" });
    expect(await readdir(hub.root)).toEqual(["data"]);
  });
});
