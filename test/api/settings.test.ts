import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { resetAdminPassword } from "#hub/platform/access/admin.ts";
import { issueAt } from "#test/support/clients/api.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";

const SECRETS = { SVC_API_TOKEN: "the-token-of-callers", WORKER_SECRET: "the-secret-of-workers" };
const PASSWORD = "correct horse battery";
let hub: TestHub;
beforeAll(async () => {
  const env = { ...SECRETS, SVC_ADMIN_PASSWORD: PASSWORD };
  hub = await startTestHub({ mode: "control", env });
});
afterAll(() => hub.close());

const token = { authorization: `Bearer ${SECRETS.SVC_API_TOKEN}` };
const admin = { ...token, "x-admin-password": PASSWORD };
const call = (method: string, path: string, body?: unknown, headers: object = admin) =>
  hub.call(method, `/api/v1${path}`, body, { headers: { ...headers } });
const setting = async (key: string) => {
  const { body } = await call("GET", "/settings", undefined, token);
  return body.settings.find((one: { key: string }) => one.key === key);
};

describe("settings (rules/pipeline-operations#settings)", () => {
  test("GET lists every one with its source, secrets masked, needs no password (rules/pipeline-operations#settings)", async () => {
    const { status, body, text } = await call("GET", "/settings", undefined, token);
    expect(status).toBe(200);
    const keys = body.settings.map(({ key }: { key: string }) => key);
    expect(keys).toEqual(keys.toSorted());
    expect(await setting("worker_secret")).toEqual({
      key: "worker_secret",
      value: "***",
      secret: true,
      writable: false,
      source: "env",
      description: expect.stringContaining("WORKER_SECRET"),
      updated_at: null,
    });
    expect(await setting("deploy_argv")).toMatchObject({ value: null, source: "default" });
    expect(await setting("service_log_days")).toMatchObject({
      value: 7,
      source: "default",
      writable: true,
      secret: false,
      updated_at: null,
    });
    for (const secret of [...Object.values(SECRETS), PASSWORD]) expect(text).not.toContain(secret);
  });

  test("PUT stores a value, which takes effect immediately and is listed as stored; DELETE restores the default", async () => {
    const { status, body } = await call("PUT", "/settings/service_log_days", { value: 3.5 });
    expect(status).toBe(200);
    expect(body).toMatchObject({ value: 3.5, source: "stored", updated_at: expect.any(String) });
    expect(await setting("service_log_days")).toEqual(body);
    expect((await call("DELETE", "/settings/service_log_days")).status).toBe(204);
    expect(await setting("service_log_days")).toMatchObject({ value: 7, source: "default" });
    expect((await call("DELETE", "/settings/service_log_days")).status).toBe(404);
  });

  test("null unsets one that may be unset", async () => {
    expect((await call("PUT", "/settings/llm_default_engine", { value: "a" })).status).toBe(200);
    const { body } = await call("PUT", "/settings/llm_default_engine", { value: null });
    expect(body).toMatchObject({ value: null, source: "default" });
    expect(await setting("llm_default_engine")).toEqual(body);
  });

  const engine = { name: "a", url: "http://127.0.0.1:1/v1" };
  test.each<[string, unknown, (string | number)[]]>([
    ["service_log_days", "7", ["body", "value"]],
    ["service_log_days", -1, ["body", "value"]],
    ["service_log_level", "loud", ["body", "value"]],
    ["service_log_max_rows", 1.5, ["body", "value"]],
    ["llm_engines", [engine, engine], ["body", "value"]],
    ["llm_engines", [{ ...engine, key: "hunter2-hunter2" }], ["body", "value", 0]],
    [
      "llm_engines",
      [{ ...engine, url: "http://u:hunter2-hunter2@h/" }],
      ["body", "value", 0, "url"],
    ],
    ["llm_engines", [{ ...engine, url: "ftp://h/" }], ["body", "value", 0, "url"]],
    [
      "llm_engines",
      [{ ...engine, api_key_env: "hunter2-hunter2" }],
      ["body", "value", 0, "api_key_env"],
    ],
  ])(
    "a bad value of %s is 422 naming its place and never told again: %p",
    async (key, value, loc) => {
      const { status, body, text } = await call("PUT", `/settings/${key}`, { value });
      expect(status).toBe(422);
      expect(body).toMatchObject(issueAt(...loc));
      expect(text + JSON.stringify(hub.log)).not.toContain("hunter2");
    },
  );

  test("unknown keys are 404, those of variables 409, a body without value 400", async () => {
    expect((await call("PUT", "/settings/nothing", { value: 1 })).status).toBe(404);
    expect((await call("PUT", "/settings/constructor", { value: 1 })).status).toBe(404);
    const { status, body } = await call("PUT", "/settings/api_token", { value: "x" });
    expect(status).toBe(409);
    expect(body.detail).toContain("SVC_API_TOKEN");
    expect((await call("PUT", "/settings/service_log_days", {})).status).toBe(400);
    expect((await call("PUT", "/settings/service_log_days", { value: 1, more: 2 })).status).toBe(
      422,
    );
  });
});

describe("the administrator password guards writing settings (rules/pipeline-operations#write-a-setting)", () => {
  const put = (headers: object) =>
    call("PUT", "/settings/service_log_days", { value: 7 }, { ...headers });
  const basic = (user: string, password: string) => ({
    authorization: `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`,
  });

  test("without it 401 with a challenge, before the body is looked at (rules/pipeline-api#the-administrator)", async () => {
    const { status, headers, body } = await put(token);
    expect(status).toBe(401);
    expect(headers.get("www-authenticate")).toStartWith("Basic ");
    expect(body.detail).toBe("the administrator password is required");
    expect((await call("PUT", "/settings/nothing", "{", token)).status).toBe(401);
  });

  test("HTTP Basic of the user admin opens it where no API token is asked for (rules/access#administrator)", async () => {
    const own = await startTestHub({ mode: "control", env: { SVC_ADMIN_PASSWORD: PASSWORD } });
    const change = (headers: Record<string, string>) =>
      own.call("PUT", "/api/v1/settings/service_log_days", { value: 7 }, { headers });
    expect((await change(basic("admin", PASSWORD))).status).toBe(200);
    expect((await change(basic("root", PASSWORD))).status).toBe(401);
    expect((await change({ authorization: "Basic !!!" })).status).toBe(401);
    await own.close();
  });

  test("after five wrong ones 429 with Retry-After, also for the right one (rules/access#wrong-passwords)", async () => {
    const own = await startTestHub({ mode: "control", env: { SVC_ADMIN_PASSWORD: PASSWORD } });
    const change = (password: string) =>
      own.call(
        "PUT",
        "/api/v1/settings/service_log_days",
        { value: 7 },
        {
          headers: { "x-admin-password": password },
        },
      );
    const answers = await Promise.all([1, 2, 3, 4, 5, 6].map((i) => change(`wrong ${i}`)));
    expect(answers.map(({ status }) => status).sort()).toEqual([401, 401, 401, 401, 401, 429]);
    const { status, headers } = await change(PASSWORD);
    expect(status).toBe(429);
    expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
    expect(JSON.stringify(own.log)).not.toContain("wrong 1");
    await own.close();
  });

  test("dev mode makes one at its first start only, and keeps no more than an argon2id hash (rules/access#administrator)", async () => {
    const dev = await startTestHub({ mode: "dev" });
    const change = (password: string) =>
      dev.call(
        "PUT",
        "/api/v1/settings/service_log_days",
        { value: 7 },
        {
          headers: { "x-admin-password": password },
        },
      );
    const first = dev.ctx.operations.new_password ?? "";
    expect(first).toMatch(/^([2-9a-z]{5}-){3}[2-9a-z]{5}$/);
    expect(await dev.ctx.db.settings.get("admin_password_hash")).toStartWith("$argon2id$");
    expect((await change(first)).status).toBe(200);
    await dev.restart();
    expect(dev.ctx.operations.new_password).toBeNull();
    expect((await change(first)).status).toBe(200);
    const second = await resetAdminPassword(dev.ctx.db.settings, 1);
    expect((await change(first)).status).toBe(401);
    expect((await change(second)).status).toBe(200);
    for (const password of [first, second]) {
      expect(JSON.stringify(dev.log)).not.toContain(password);
      expect((await dev.call("GET", "/api/v1/settings")).text).not.toContain(password);
    }
    await dev.close();
  });

  test("where there is none, guarded calls are 403 and say what to do (rules/access#administrator)", async () => {
    const own = await startTestHub({ mode: "control" });
    const { status, body } = await own.call("PUT", "/api/v1/settings/service_log_days", {
      value: 7,
    });
    expect(status).toBe(403);
    expect(body.detail).toContain("SVC_ADMIN_PASSWORD");
    await own.close();
  });
});
