import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { createServer, type Server, type Socket } from "node:net";
import { until } from "#test/support/rigs/fleet-process.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";
import { freePort } from "#test/support/servers/ports.ts";

const PASSWORD = "correct horse battery";
const KEY = "sk-0123456789-never-shown";
const COMPLETION = {
  model: "tiny-1",
  choices: [{ message: { role: "assistant", content: `ok ${KEY}` } }],
};

let hub: TestHub;
let engine: ReturnType<typeof Bun.serve>;
let silent: Server;
const sockets: Socket[] = [];
/** What the engine answers next, and what it was asked last. */
let answer: () => Response = () => Response.json(COMPLETION);
let asked: { path: string; authorization: string | null; body: Record<string, unknown> } | null;

const address = (server: Server) => {
  const at = server.address();
  if (at === null || typeof at === "string") throw new Error("no port");
  return `http://127.0.0.1:${at.port}/v1`;
};

beforeAll(async () => {
  engine = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      const path = new URL(request.url).pathname;
      const body = (await request.json()) as Record<string, unknown>;
      asked = { path, authorization: request.headers.get("authorization"), body };
      return answer();
    },
  });
  silent = createServer((socket) => sockets.push(socket));
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  const env = { SVC_ADMIN_PASSWORD: PASSWORD, ENGINE_API_KEY: KEY };
  // How many tests run at a time is each hub's own matter.
  hub = await startTestHub({ alone: true, mode: "control", env });
  await set("llm_timeout_s", 120);
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  silent.close();
  await engine.stop(true);
  await hub.close();
});
beforeEach(() => {
  asked = null;
  answer = () => Response.json(COMPLETION);
});

const admin = { "x-admin-password": PASSWORD };
async function set(key: string, value: unknown): Promise<void> {
  const path = `/api/v1/settings/${key}`;
  expect((await hub.call("PUT", path, { value }, { headers: admin })).status).toBe(200);
}
const llmTest = (body: object, headers: Record<string, string> = {}) =>
  hub.call("POST", "/api/v1/settings/llm/test", body, { headers });
const url = () => `http://127.0.0.1:${engine.port}/v1`;

describe("POST /settings/llm/test (rules/pipeline-operations#engine-test)", () => {
  test("a base URL gets the path of the call, and the answer is reported with its time (rules/pipeline-operations#engine-test)", async () => {
    const { status, body } = await llmTest({ url: url(), model: "small", prompt: "say ok" });
    expect(status).toBe(200);
    expect(body).toEqual({
      ok: true,
      error: null,
      error_kind: null,
      status: 200,
      model: "tiny-1",
      reply: `ok ${KEY}`,
      latency_ms: expect.any(Number),
    });
    expect(asked).toMatchObject({
      path: "/v1/chat/completions",
      authorization: null,
      body: { model: "small", messages: [{ role: "user", content: "say ok" }], stream: true },
    });
  });

  test("the endpoint itself is taken as it is, and without a model none is sent", async () => {
    await llmTest({ url: `${url()}/chat/completions` });
    expect(asked?.path).toBe("/v1/chat/completions");
    expect(asked?.body).not.toHaveProperty("model");
  });

  test("is asked as tasks ask it: once more after a 503, streamed, without its thoughts", async () => {
    const says = [
      () => new Response("busy", { status: 503, headers: { "retry-after": "0" } }),
      () =>
        new Response(
          'data: {"model":"tiny-2","choices":[{"delta":{"content":"<think>hm</think>"}}]}\n\n' +
            'data: {"choices":[{"delta":{"content":"o"}}]}\n\n' +
            'data: {"choices":[{"delta":{"content":"k"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
          { headers: { "content-type": "text/event-stream" } },
        ),
    ];
    answer = () => says.shift()?.() ?? new Response("asked too often", { status: 400 });
    const { body } = await llmTest({ url: url() });
    expect(body).toMatchObject({ ok: true, status: 200, model: "tiny-2", reply: "ok" });
  });

  test("a configured engine is tested by its name, alone without one, or as the default", async () => {
    expect((await llmTest({})).status).toBe(400);
    await set("llm_engines", [
      { name: "one", url: url(), model: "m1", api_key_env: "ENGINE_API_KEY" },
    ]);
    expect((await llmTest({})).body.ok).toBe(true);
    expect(asked).toMatchObject({ authorization: `Bearer ${KEY}`, body: { model: "m1" } });
    await set("llm_engines", [
      { name: "one", url: url(), model: "m1" },
      { name: "two", url: url(), model: "m2" },
    ]);
    expect((await llmTest({})).status).toBe(400);
    await llmTest({ engine: "two" });
    expect(asked?.body.model).toBe("m2");
    await set("llm_default_engine", "one");
    await llmTest({ model: "other" });
    expect(asked?.body.model).toBe("other");
    expect((await llmTest({ engine: "three" })).status).toBe(404);
    expect((await llmTest({ engine: "one", url: url() })).status).toBe(422);
  });

  test("a key is taken from the named variable and never told, whatever the engine says", async () => {
    const own = { url: url(), api_key_env: "ENGINE_API_KEY" };
    const good = await llmTest(own, admin);
    expect(asked?.authorization).toBe(`Bearer ${KEY}`);
    expect(good.body.reply).toBe("ok ***");
    answer = () => Response.json({ error: { message: `bad key ${KEY}` } }, { status: 401 });
    const bad = await llmTest(own, admin);
    expect(bad.body).toMatchObject({
      ok: false,
      error_kind: "auth",
      status: 401,
      reply: null,
      error: "HTTP 401: bad key ***",
    });
    expect(JSON.stringify(hub.log)).not.toContain(KEY);
  });

  test("sending a key to an address of the caller's own needs the administrator (rules/pipeline-operations#engine-test)", async () => {
    expect((await llmTest({ url: url(), api_key_env: "ENGINE_API_KEY" })).status).toBe(401);
    expect(asked).toBeNull();
  });

  test("a variable that is not set, and this program's own ones, give no key and no call", async () => {
    for (const api_key_env of ["NOT_SET_API_KEY", "HOME", "SVC_ADMIN_PASSWORD"]) {
      const { body } = await llmTest({ url: url(), api_key_env }, admin);
      expect(body).toMatchObject({ ok: false, error_kind: "no_key", status: null });
      expect(body.error).toContain(api_key_env);
    }
    expect(asked).toBeNull();
  });

  const cases: [string, string, () => Response, object][] = [
    ["403", "auth", () => new Response("no", { status: 403 }), { status: 403 }],
    ["500", "http_status", () => new Response("broken <b>", { status: 500 }), { status: 500 }],
    [
      "a redirect",
      "http_status",
      () => Response.redirect("http://127.0.0.1:1/", 302),
      { status: 302 },
    ],
    ["a page", "bad_json", () => new Response("<html>"), { status: 200 }],
    ["another shape", "bad_json", () => Response.json({ choices: [] }), { status: 200 }],
    ["null", "bad_json", () => Response.json(null), { status: 200 }],
    ["2 MB", "bad_json", () => new Response("x".repeat(2 << 20)), { status: 200 }],
  ];
  test.each(cases)("%s is told as %s", async (_what, error_kind, say, more) => {
    answer = say;
    const { status, body } = await llmTest({ url: url(), model: "small" });
    expect(status).toBe(200);
    expect(body).toMatchObject({ ok: false, error_kind, reply: null, model: "small", ...more });
    expect(body.error).not.toBe("");
  });

  test("a refused connection, an unknown name and a silent engine are told apart", async () => {
    const closed = `http://127.0.0.1:${freePort()}/v1`;
    expect((await llmTest({ url: closed })).body.error_kind).toBe("refused");
    expect((await llmTest({ url: "http://nowhere.invalid/v1" })).body.error_kind).toBe("dns");
    await set("llm_timeout_s", 0.1);
    const { body } = await llmTest({ url: address(silent) });
    expect(body).toMatchObject({ error_kind: "timeout", error: "no answer within 0.1 s" });
    expect(body.latency_ms).toBeGreaterThanOrEqual(100);
    await set("llm_timeout_s", 120);
  });

  test("only so many tests run at a time; more are 503", async () => {
    const tests = Array.from({ length: 9 }, () => llmTest({ url: address(silent) }));
    expect((await Promise.race(tests)).status).toBe(503);
    // The others end when their engine hangs up.
    let over = false;
    const all = Promise.all(tests).finally(() => {
      over = true;
    });
    await until("the end of the tests", 60_000, () => {
      for (const socket of sockets.splice(0)) socket.destroy();
      return over;
    });
    const statuses = (await all).map(({ status }) => status).sort();
    expect(statuses).toEqual([...Array(8).fill(200), 503]);
    expect((await llmTest({ url: url() })).body.ok).toBe(true);
  });

  test("a plain port behind https is reported as a failure of TLS or the network", async () => {
    const { body } = await llmTest({ url: url().replace("http:", "https:") });
    expect(["tls", "network"]).toContain(body.error_kind);
  });

  test.each([
    "http://169.254.169.254/latest",
    "http://[::ffff:169.254.169.254]/v1",
    "http://0xa9fea9fe/v1",
    "http://metadata.google.internal/v1",
    "http://[fe80::1]/v1",
    "http://[fd00:ec2::254]/v1",
  ])("%s is never connected to (rules/pipeline-operations#engine-test)", async (metadata) => {
    const { body } = await llmTest({ url: metadata });
    expect(body).toMatchObject({ ok: false, error_kind: "refused_address", status: null });
  });

  test.each<[string, unknown]>([
    ["no http", { url: "file:///etc/passwd" }],
    ["a password in the URL", { url: "http://u:secret-word@h/v1" }],
    ["an unknown key", { url: "http://h/", key: "x" }],
    ["a prompt of 10,001 characters", { url: "http://h/", prompt: "x".repeat(10_001) }],
    ["a bad variable name", { url: "http://h/", api_key_env: "A-B" }],
  ])("%s is 422", async (_what, body) => {
    const refused = await llmTest(body as object);
    expect(refused.status).toBe(422);
    expect(refused.text).not.toContain("secret-word");
  });
});
