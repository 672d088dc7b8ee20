import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { checkEngine, resolveEngine } from "#hub/fleet/registries/engines.ts";
import { loadHubConfig } from "#hub/platform/config.ts";
import type { AppError } from "#shared/kit/errors.ts";
import { issueAt, scenarios } from "#test/support/clients/api.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";

const KEY = "sk-0123456789-never-shown";
const SECRET = "worker secret of this test";
const TOKEN = "token-of-this-test";

let hub: TestHub;
/** With WORKER_SECRET, SVC_API_TOKEN, an engine of the environment, and only one variable that may hold a key. */
let closed: TestHub;
beforeAll(async () => {
  // What a hub has read of the settings is its own.
  hub = await startTestHub({ alone: true, env: { LLM_API_KEY: KEY } });
  closed = await startTestHub({
    alone: true,
    env: {
      WORKER_SECRET: SECRET,
      SVC_API_TOKEN: TOKEN,
      LLM_API_KEY: KEY,
      OTHER_API_KEY: "other",
      CODEGEN_LLM_URL: "http://env.test:1234/v1",
      CODEGEN_MODEL_NAME: "env-model",
      CODEGEN_LLM_API_KEY: KEY,
      SVC_ENGINE_KEY_ENV: "LLM_API_KEY",
    },
  });
});
afterAll(async () => {
  await hub.close();
  await closed.close();
});
afterEach(async () => {
  for (const { db, settings_cache } of [hub.ctx, closed.ctx]) {
    for (const { slug } of await db.engines.list()) await db.engines.delete(slug);
    for (const key of ["default_engine", "judge_engine"]) await db.settings.delete(key);
    settings_cache.clear();
  }
});

const at = () => hub;
const ENGINE = { endpoint: "http://llm.test:8080", model: "tiny" };
const put = (slug: string, more: object = {}, of: TestHub = hub) =>
  of.call(
    "PUT",
    `/engines/${slug}`,
    { ...ENGINE, ...more },
    { headers: { authorization: `Bearer ${TOKEN}` } },
  );
const setting = async (key: string, value: unknown, of = hub) => {
  await of.ctx.db.settings.set(key, value, 0);
  of.ctx.settings_cache.clear();
};

scenarios("GET /engines (rules/engines#engine-calls)", at, [
  { name: "lists none at first", status: 200, body: { engines: [] } },
  {
    name: "lists them by slug, without keys",
    before: async () => {
      await put("b", { api_key_env: "LLM_API_KEY" });
      await put("a");
    },
    status: 200,
    body: { engines: [{ slug: "a" }, { slug: "b", api_key_env: "LLM_API_KEY", promoted: false }] },
    after: async (_, { text }) => expect(text).not.toContain(KEY),
  },
]);

scenarios("PUT /engines/{slug} (rules/engines#engine-calls)", at, [
  {
    name: "creates one with its defaults (rules/engines#engine-record)",
    path: "/engines/local",
    send: ENGINE,
    status: 200,
    body: {
      slug: "local",
      ...ENGINE,
      name: "",
      kind: "chat",
      protocol: "openai",
      timeout_s: 120,
      supports_tools: false,
      use_for_codegen: false,
      api_key_env: null,
      notes: "",
      promoted: false,
    },
  },
  {
    name: "the same slug updates, and stays promoted",
    path: "/engines/local",
    before: async (h) => {
      await put("local");
      await h.call("POST", "/engines/local/promote");
    },
    send: { ...ENGINE, slug: "local", kind: "reasoning", model: "big" },
    status: 200,
    body: { kind: "reasoning", model: "big", promoted: true },
  },
  {
    name: "refuses a key in the place of its variable's name",
    path: "/engines/a",
    send: { ...ENGINE, api_key_env: "sk-12 34" },
    status: 422,
    body: issueAt("body", "api_key_env"),
  },
  {
    name: "refuses credentials in the address",
    path: "/engines/a",
    send: { ...ENGINE, endpoint: "http://me:pass@llm.test" },
    status: 422,
    body: issueAt("body", "endpoint"),
  },
  {
    name: "refuses a cloud's metadata service, however it is written",
    path: "/engines/a",
    send: { ...ENGINE, endpoint: "http://0xa9fea9fe/v1" },
    status: 422,
    body: issueAt("body", "endpoint"),
  },
  {
    name: "refuses another protocol and a timeout of nothing",
    path: "/engines/a",
    send: { ...ENGINE, protocol: "grpc", timeout_s: 0 },
    status: 422,
    body: issueAt("body", "timeout_s"),
  },
  {
    name: "refuses the words that stand for an engine",
    path: "/engines/auto",
    send: ENGINE,
    status: 422,
    body: issueAt("path", "slug"),
  },
  {
    name: "refuses what is no slug",
    path: "/engines/Not%20One",
    send: ENGINE,
    status: 422,
    body: issueAt("path", "slug"),
  },
  {
    name: "refuses another slug than the path's",
    path: "/engines/a",
    send: { ...ENGINE, slug: "b" },
    status: 422,
    body: issueAt("body", "slug"),
  },
  {
    name: "refuses unknown keys, such as a key itself",
    path: "/engines/a",
    send: { ...ENGINE, api_key: KEY },
    status: 422,
    body: issueAt("body", "api_key"),
  },
  {
    name: "a missing endpoint is 400",
    path: "/engines/a",
    send: { model: "m" },
    status: 400,
    body: { detail: "body.endpoint is required" },
  },
]);

scenarios("GET, DELETE /engines/{slug} and POST …/promote (rules/engines#promoted-engine)", at, [
  { name: "reads one", path: "/engines/a", before: () => put("a"), status: 200, body: ENGINE },
  { name: "an unknown one is 404", path: "/engines/a", status: 404 },
  {
    name: "deletes one; the second time it is 404",
    method: "DELETE",
    path: "/engines/a",
    before: () => put("a"),
    status: 204,
    after: async (h) => expect((await h.call("DELETE", "/engines/a")).status).toBe(404),
  },
  {
    name: "promoting one takes it from the other; deleting the promoted one leaves none",
    method: "POST",
    path: "/engines/b/promote",
    before: async (h) => {
      await put("a");
      await put("b");
      await h.call("POST", "/engines/a/promote");
    },
    status: 200,
    body: { slug: "b", promoted: true },
    after: async (h) => {
      expect((await h.call("GET", "/engines/a")).body.promoted).toBe(false);
      await h.call("DELETE", "/engines/b");
      const { engines } = (await h.call("GET", "/engines")).body;
      expect(engines.map((e: { promoted: boolean }) => e.promoted)).toEqual([false]);
    },
  },
  {
    name: "promoting an unknown one is 404",
    method: "POST",
    path: "/engines/a/promote",
    status: 404,
  },
]);

scenarios("GET /engines/{slug}/resolve (rules/engines#resolve-an-engine)", at, [
  {
    name: "gives the completions URL and the key of the named variable, and is not to be kept",
    path: "/engines/a/resolve",
    before: () =>
      put("a", { api_key_env: "LLM_API_KEY", kind: "vision-chat", supports_tools: true }),
    status: 200,
    body: {
      slug: "a",
      kind: "vision-chat",
      model: "tiny",
      timeout_s: 120,
      supports_tools: true,
      url: "http://llm.test:8080/v1/chat/completions",
      headers: { authorization: `Bearer ${KEY}` },
    },
    after: async (_, { headers }) => expect(headers.get("cache-control")).toBe("no-store"),
  },
  {
    name: "leaves a URL that ends with /chat/completions as it is",
    path: "/engines/a/resolve",
    before: () => put("a", { endpoint: "https://llm.test/api/chat/completions?v=1" }),
    status: 200,
    body: { url: "https://llm.test/api/chat/completions?v=1", headers: {} },
  },
  {
    name: "says which variable is not set",
    path: "/engines/a/resolve",
    before: () => put("a", { api_key_env: "NO_SUCH_API_KEY" }),
    status: 422,
    body: { detail: expect.stringContaining("NO_SUCH_API_KEY, which is not set") },
  },
  { name: "an unknown one is 404", path: "/engines/a/resolve", status: 404 },
  { name: "auto is 404 while there is none", path: "/engines/auto/resolve", status: 404 },
  {
    name: "auto is the only one",
    path: "/engines/auto/resolve",
    before: () => put("a"),
    status: 200,
    body: { slug: "a" },
  },
  {
    name: "auto is 404 among several of which none is promoted",
    path: "/engines/auto/resolve",
    before: () => Promise.all([put("a"), put("b")]),
    status: 404,
  },
  {
    name: "auto is the promoted one among several",
    path: "/engines/auto/resolve",
    before: async (h) => {
      await Promise.all([put("a"), put("b")]);
      await h.call("POST", "/engines/b/promote");
    },
    status: 200,
    body: { slug: "b" },
  },
  {
    name: "no page of another site reads a key",
    path: "/engines/a/resolve",
    before: () => put("a"),
    headers: { origin: "https://other.test" },
    status: 403,
  },
  {
    name: "default is the setting's one",
    path: "/engines/default/resolve?purpose=codegen",
    before: async () => {
      await Promise.all([put("a"), put("b")]);
      await setting("default_engine", "b");
    },
    status: 200,
    body: { slug: "b" },
  },
  { name: "default says how to get one", path: "/engines/default/resolve", status: 422 },
]);

describe("resolve where secrets are set (rules/engines#resolve-an-engine)", () => {
  const resolve = (headers: Record<string, string>) =>
    closed.call("GET", "/engines/a/resolve", undefined, { headers });

  test("answers who proves WORKER_SECRET, API token or not, and nobody else", async () => {
    expect((await put("a", { api_key_env: "LLM_API_KEY" }, closed)).status).toBe(200);
    const proof = { "x-worker-secret": SECRET };
    expect((await resolve(proof)).body.headers.authorization).toBe(`Bearer ${KEY}`);
    const wrongs: Record<string, string>[] = [
      {},
      { authorization: `Bearer ${TOKEN}` },
      { "x-worker-secret": "no" },
    ];
    for (const wrong of wrongs) expect((await resolve(wrong)).status).toBe(401);
    expect((await closed.call("GET", "/engines")).status).toBe(401);
    expect(closed.log.some((line) => JSON.stringify(line).includes(KEY))).toBe(false);
  });

  test("takes keys from the variables of SVC_ENGINE_KEY_ENV alone, when it is set", async () => {
    const row = { ...ENGINE, api_key_env: "OTHER_API_KEY" };
    expect(await put("a", row, closed)).toMatchObject({
      status: 422,
      body: issueAt("body", "api_key_env"),
    });
    // Put when the list was another one.
    const { body } = await put("a", { api_key_env: null }, closed);
    await closed.ctx.db.engines.put({ ...body, api_key_env: "OTHER_API_KEY", updated_at: 0 });
    const { status, text } = await resolve({ "x-worker-secret": SECRET });
    expect(status).toBe(422);
    expect(text).toContain("SVC_ENGINE_KEY_ENV does not allow");
  });
});

describe("the engine where none is named (rules/engines#which-engine-counts)", () => {
  const of = (purpose: "codegen" | "judge" | "ask", h = hub) =>
    resolveEngine(h.ctx, null, purpose).then(
      ({ slug }) => slug,
      (err: AppError) => `${err.kind}: ${err.message}`,
    );

  test("is the setting's, then the promoted one, then the only one for code, then the environment's", async () => {
    expect(await of("codegen")).toStartWith("invalid: no engine is configured");
    await Promise.all([put("a"), put("b", { use_for_codegen: true })]);
    expect(await of("codegen")).toBe("b");
    await put("a", { use_for_codegen: true });
    expect(await of("codegen")).toStartWith("invalid: no engine is the default one");
    await hub.call("POST", "/engines/a/promote");
    expect(await of("codegen")).toBe("a");
    await setting("default_engine", "b");
    expect(await of("codegen")).toBe("b");
    expect(await of("judge")).toBe("b");
    await setting("judge_engine", "a");
    expect(await of("judge")).toBe("a");
    await setting("default_engine", "gone");
    expect(await of("ask")).toBe(
      "invalid: the setting default_engine names engine gone, which is not there",
    );
  });

  test("is that of CODEGEN_LLM_URL where no engine fits, its key never logged", async () => {
    expect(await resolveEngine(closed.ctx, null, "codegen")).toEqual({
      slug: "environment",
      kind: "chat",
      model: "env-model",
      timeout_s: 120,
      url: "http://env.test:1234/v1/chat/completions",
      supports_tools: false,
      headers: { authorization: `Bearer ${KEY}` },
    });
    await put("thinker", { kind: "reasoning", use_for_codegen: true }, closed);
    expect(await of("codegen", closed)).toBe("environment");
    expect(await of("judge", closed)).toBe("thinker");
  });

  test("CODEGEN_LLM_URL and CODEGEN_MODEL_NAME come together", () => {
    expect(() => loadHubConfig({ CODEGEN_LLM_URL: "http://a" })).toThrow("CODEGEN_MODEL_NAME");
    expect(() => loadHubConfig({ CODEGEN_MODEL_NAME: "m" })).toThrow("CODEGEN_LLM_URL");
    expect(loadHubConfig({}).codegen).toBeNull();
  });

  test("codegen_engine must be of kind chat or vision-chat, and there (rules/job-options#the-engine-of-a-job)", async () => {
    await Promise.all([put("chat"), put("sees", { kind: "vision-chat" })]);
    await put("thinker", { kind: "reasoning" });
    await checkEngine(hub.ctx, null);
    await checkEngine(hub.ctx, "chat");
    await checkEngine(hub.ctx, "sees");
    const loc = ["body", "options", "codegen_engine"];
    for (const slug of ["thinker", "gone", "auto"])
      await expect(checkEngine(hub.ctx, slug)).rejects.toMatchObject({
        kind: "invalid",
        detail: [{ loc }],
      });
    await hub.call("POST", "/engines/chat/promote");
    await checkEngine(hub.ctx, "auto");
    await expect(resolveEngine(hub.ctx, "thinker", "codegen")).rejects.toThrow("kind reasoning");
  });
});
