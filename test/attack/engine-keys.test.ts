import { afterAll, beforeAll, expect, test } from "bun:test";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";

/** An engine names the variable of its key: it must not become a way to read the hub's environment. */

const SECRETS = {
  WORKER_SECRET: "attack-worker-secret",
  SVC_ADMIN_PASSWORD: "attack-admin-password",
  AWS_SECRET_ACCESS_KEY: "attack-aws-secret",
  AWS_ACCESS_KEY_ID: "attack-aws-id",
  S3_SECRET_ACCESS_KEY: "attack-s3-secret",
  S3_ACCESS_KEY_ID: "attack-s3-id",
  CODEGEN_LLM_API_KEY: "attack-codegen-key",
  PGPASSWORD: "attack-pg-password",
  HOME: "/attack-home",
  DATABASE_PASSWORD: "attack-database",
  GITHUB_TOKEN: "attack-token",
  SITE_PASSWORD: "attack-site",
};
const ENGINE = { endpoint: "http://llm.test:8080", model: "tiny" };

let hub: TestHub;
let widest: TestHub;
beforeAll(async () => {
  const alone = true;
  hub = await startTestHub({ alone, env: { ...SECRETS, CLOUD_API_KEY: "attack-cloud-key" } });
  // The operator has named the program's own secrets too.
  const SVC_ENGINE_KEY_ENV = "*_SECRET,*PASSWORD,*_KEY,SVC_ADMIN_PASSWORD,CODEGEN_LLM_API_KEY";
  const own = { ...SECRETS, HOME: "", DATABASE_PASSWORD: "" };
  widest = await startTestHub({ alone, env: { ...own, SVC_ENGINE_KEY_ENV } });
});
afterAll(async () => {
  await hub?.close();
  await widest?.close();
});

/** All that the hub says when `name` is put as an engine's key, resolved and tested. */
async function tried(at: TestHub, name: string): Promise<{ put: number; said: string }> {
  const headers = {
    "x-worker-secret": SECRETS.WORKER_SECRET,
    "x-admin-password": SECRETS.SVC_ADMIN_PASSWORD,
  };
  const put = await at.call("PUT", "/engines/x", { ...ENGINE, api_key_env: name }, { headers });
  const resolved = await at.call("GET", "/engines/x/resolve", undefined, { headers });
  // A row of a hub that allowed more.
  await at.ctx.db.engines.put({
    slug: "old",
    name: "",
    kind: "chat",
    protocol: "openai",
    timeout_s: 5,
    ...ENGINE,
    supports_tools: false,
    use_for_codegen: false,
    api_key_env: name,
    notes: "",
    updated_at: 0,
  });
  const old = await at.call("GET", "/engines/old/resolve", undefined, { headers });
  const body = { url: "http://127.0.0.1:1/v1", api_key_env: name };
  const asked = await at.call("POST", "/api/v1/settings/llm/test", body, { headers });
  return { put: put.status, said: [put, resolved, old, asked].map(({ text }) => text).join("\n") };
}

test("no variable of the hub is an engine's key but one that ends with _API_KEY", async () => {
  for (const [name, value] of Object.entries(SECRETS)) {
    const { put, said } = await tried(hub, name);
    expect({ name, put }).toEqual({ name, put: 422 });
    expect({ name, told: said.includes(value) }).toEqual({ name, told: false });
    expect(said).toContain("SVC_ENGINE_KEY_ENV does not allow");
  }
  expect(await tried(hub, "CLOUD_API_KEY")).toMatchObject({
    put: 200,
    said: expect.stringContaining("attack-cloud-key"),
  });
});

test("the program's own secrets are no keys, whatever SVC_ENGINE_KEY_ENV says", async () => {
  const own = Object.entries(SECRETS).filter(([name]) =>
    /^(SVC|WORKER|AWS|S3|CODEGEN|PG)/.test(name),
  );
  expect(own.length).toBe(8);
  for (const [name, value] of own) {
    const { put, said } = await tried(widest, name);
    expect({ name, put, told: said.includes(value) }).toEqual({ name, put: 422, told: false });
  }
  expect(await tried(widest, "SITE_PASSWORD")).toMatchObject({ put: 200 });
});

test("only a proven worker gets a key, and no page of another site", async () => {
  const { put } = await tried(hub, "CLOUD_API_KEY");
  expect(put).toBe(200);
  const good = { "x-worker-secret": SECRETS.WORKER_SECRET };
  const wrongs: Record<string, string>[] = [
    {},
    { "x-worker-secret": "" },
    { "x-worker-secret": `${SECRETS.WORKER_SECRET} `.slice(0, -2) },
    { authorization: `Bearer ${SECRETS.WORKER_SECRET}` },
    { ...good, origin: "https://evil.test" },
    { ...good, origin: "null" },
  ];
  for (const headers of wrongs) {
    const { status, text } = await hub.call("GET", "/engines/x/resolve", undefined, { headers });
    expect({ headers, refused: status === 401 || status === 403 }).toMatchObject({ refused: true });
    expect(text).not.toContain("attack-cloud-key");
  }
});
