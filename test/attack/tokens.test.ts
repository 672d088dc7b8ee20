import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import type { Role } from "#shared/protocol/schema/token.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";

/** Tokens with roles: what they open, what they do not, and when they stop. Every route with every role: `routes.test.ts`. */

setDefaultTimeout(120_000);

const PASSWORD = "password-of-the-test";
const password = { "x-admin-password": PASSWORD };
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const COMMAND = { slug: "c", executor_type: "command", executor_config: { argv: ["id"] } };

let hub: TestHub;
afterEach(() => hub?.close());
const start = async (env: Record<string, string> = {}) => {
  hub = await startTestHub({ env });
};
const call = (method: string, path: string, headers: Record<string, string>, body?: unknown) =>
  hub.call(method, path, body, { headers });
async function make(role: Role, headers: Record<string, string> = {}, more: object = {}) {
  const { status, body } = await call("POST", "/tokens", headers, { name: role, role, ...more });
  expect({ status, body }).toMatchObject({ status: 201 });
  // What one hub of several was told the others know a second later.
  await hub.everywhere((ctx) => ctx.tokens.exist);
  return body as { token: string; token_id: string; warnings: string[] };
}

test("a LAN without tokens is open, and the first token closes it, workers without a secret excepted (rules/access#the-first-token)", async () => {
  await start();
  expect((await call("GET", "/jobs", {})).status).toBe(200);
  for (const refused of [
    { name: "v", role: "operator" },
    { name: "v", role: "admin", expires_in_s: 60 },
  ])
    expect(await call("POST", "/tokens", {}, refused)).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining("role admin and never expire") },
    });
  expect((await call("GET", "/jobs", {})).status).toBe(200);
  const admin = await make("admin");
  expect(admin.token).toMatch(/^flt_[\w-]{43}$/);
  expect(admin.warnings).toEqual([expect.stringContaining("WORKER_SECRET")]);
  expect((await call("GET", "/jobs", {})).status).toBe(401);
  expect((await call("POST", "/tokens", {}, { name: "x", role: "admin" })).status).toBe(401);
  expect((await call("GET", "/jobs", bearer(admin.token))).status).toBe(200);
  const worker = await hub.worker({ worker_id: "w77" });
  expect((await worker.registered).type).toBe("HubRegistered");
  // What tasks of plugins need of it is theirs as well, by the same proof.
  const state = await hub.call("GET", "/api/v1/plugins/none/state/key");
  expect(state.status).toBe(404);
});

test("the table holds no token, and lists show none", async () => {
  await start({ SVC_ADMIN_PASSWORD: PASSWORD });
  const { token, token_id } = await make("viewer", password, { expires_in_s: 3_600 });
  const [row] = await hub.ctx.db.access.tokens();
  expect(JSON.stringify(row)).not.toContain(token.slice(4));
  const { text, body } = await call("GET", "/tokens", password);
  expect(text).not.toContain(token.slice(4));
  expect(body.tokens).toMatchObject([{ token_id, role: "viewer", expired: false }]);
  expect(JSON.stringify(hub.log)).not.toContain(token.slice(4));
});

test("what runs commands or names keys asks a token for the role admin, in one sentence", async () => {
  await start({ SVC_ADMIN_PASSWORD: PASSWORD });
  const operator = bearer((await make("operator", password)).token);
  const admin = bearer((await make("admin", password)).token);
  const plain = { ...COMMAND, slug: "f", executor_type: "fleet_fetch", executor_config: {} };
  const keyed = { name: "e", endpoint: "http://127.0.0.1:9", model: "m", api_key_env: "X_KEY" };
  const attempts: [string, string, object][] = [
    ["POST", "/api/v1/workloads", COMMAND],
    [
      "POST",
      "/api/v1/workloads",
      { ...COMMAND, executor_type: "python_module", executor_config: { module: "m" } },
    ],
    [
      "POST",
      "/api/v1/workloads",
      { ...COMMAND, executor_type: "bun_module", executor_config: { module: "m" } },
    ],
    ["PUT", "/engines/e", keyed],
  ];
  for (const [method, path, body] of attempts)
    expect(await call(method, path, operator, body)).toMatchObject({
      status: 403,
      body: { detail: "this needs a token of the role admin: yours is operator" },
    });
  expect((await call("POST", "/api/v1/workloads", operator, plain)).status).toBe(201);
  const { slug: _, ...change } = COMMAND;
  const put = (headers: Record<string, string>) =>
    call("PUT", "/api/v1/workloads/f", headers, { name: "f", ...change });
  expect((await put(operator)).status).toBe(403);
  expect((await put({ ...operator, "x-admin-password": "wrong" })).status).toBe(401);
  expect((await put({ ...operator, ...password })).status).toBe(200);
  expect((await put(admin)).status).toBe(200);
  for (const path of ["/api/v1/settings/service_log_days", "/api/v1/admin/deploy"]) {
    const method = path.endsWith("deploy") ? "POST" : "PUT";
    expect((await call(method, path, operator, { value: 7 })).status).toBe(403);
  }
  expect((await call("PUT", "/api/v1/settings/service_log_days", admin, { value: 7 })).status).toBe(
    200,
  );
});

test("SVC_API_TOKEN keeps its rights next to tokens with roles", async () => {
  await start({ SVC_API_TOKEN: "t0ken-of-the-installation" });
  const own = bearer("t0ken-of-the-installation");
  await make("viewer", own);
  expect((await call("POST", "/api/v1/workloads", own, COMMAND)).status).toBe(201);
  expect((await call("PATCH", "/settings", own, { retention_days: 9 })).status).toBe(200);
  expect((await call("PUT", "/api/v1/settings/service_log_days", own, { value: 7 })).status).toBe(
    403,
  );
});

test("a revoked token stops at every hub, and the last admin's cannot be revoked before the others", async () => {
  await start();
  const admin = await make("admin");
  const viewer = await make("viewer", bearer(admin.token));
  const jobs = () => call("GET", "/jobs", bearer(viewer.token));
  for (let i = 0; i < 6; i++) expect((await jobs()).status).toBe(200);
  const revoke = (id: string) => call("DELETE", `/tokens/${id}`, bearer(admin.token));
  expect(await revoke(admin.token_id)).toMatchObject({ status: 409 });
  const began = Date.now();
  expect((await revoke(viewer.token_id)).status).toBe(204);
  // Of three hubs behind a router, six calls in a row reach each.
  await until("every hub to refuse it", 60_000, async () => {
    const answers = [];
    for (let i = 0; i < 6; i++) answers.push((await jobs()).status);
    return answers.every((status) => status === 401);
  });
  hub.log.push({ revoked_everywhere_ms: Date.now() - began });
  expect((await revoke(viewer.token_id)).status).toBe(404);
  expect((await revoke(admin.token_id)).status).toBe(204);
});

test("a socket ends with the token or the login that opened it", async () => {
  await start({ SVC_ADMIN_PASSWORD: PASSWORD });
  const viewer = await make("viewer", password);
  await call("POST", "/jobs", password, { url: "http://site.test/page" });
  const { body } = await call("GET", "/jobs", bearer(viewer.token));
  const url = `${hub.url.replace("http", "ws")}/jobs/${body.jobs[0].job_id}/events`;
  const login = await hub.call("POST", "/ui/login", { token: viewer.token });
  const cookie = login.headers.getSetCookie()[0]?.split(";", 1)[0] ?? "";
  const sockets = [bearer(viewer.token), { cookie }].map((headers) => {
    const socket = new WebSocket(url, { headers } as never);
    const opened = new Promise<void>((done) => {
      socket.onopen = () => done();
    });
    const code = new Promise<number>((done) => {
      socket.onclose = (event) => done(event.code);
    });
    return { opened, code };
  });
  await Promise.all(sockets.map(({ opened }) => opened));
  await call("DELETE", `/tokens/${viewer.token_id}`, password);
  // With the last token gone the LAN is open, and nobody is logged out of it.
  await make("viewer", password);
  expect(await Promise.all(sockets.map(({ code }) => code))).toEqual([4401, 4401]);
});

test("a socket that the open LAN let in ends when the first token closes the LAN (rules/access#the-first-token)", async () => {
  await start();
  const job = await call("POST", "/jobs", {}, { url: "http://site.test/page" });
  const socket = new WebSocket(`${hub.url.replace("http", "ws")}/jobs/${job.body.job_id}/events`);
  const code = new Promise<number>((done) => {
    socket.onclose = (event) => done(event.code);
  });
  await new Promise<void>((done) => {
    socket.onopen = () => done();
  });
  await make("admin");
  expect(await code).toBe(4401);
});

test("an expired token opens nothing, and leaves the LAN closed", async () => {
  await start({ SVC_ADMIN_PASSWORD: PASSWORD });
  const { token } = await make("admin", password, { expires_in_s: 1 });
  await until(
    "its end",
    60_000,
    async () => (await call("GET", "/jobs", bearer(token))).status === 401,
  );
  expect((await call("GET", "/jobs", {})).status).toBe(401);
  const { body } = await call("GET", "/tokens", password);
  expect(body.tokens).toMatchObject([{ expired: true }]);
});

test("guesses, pieces and other spellings of a token are nobody's", async () => {
  await start({ SVC_ADMIN_PASSWORD: PASSWORD });
  const { token, token_id } = await make("admin", password);
  const [row] = await hub.ctx.db.access.tokens();
  const wrong = [
    "flt_",
    token.slice(0, -1),
    `${token}A`,
    token.slice(4),
    token.toUpperCase(),
    token_id,
    `${row?.hash}`,
    `flt_${"A".repeat(43)}`,
    "' or 1=1 --",
  ];
  for (const guess of wrong) {
    expect({ guess, status: (await call("GET", "/jobs", bearer(guess))).status }).toEqual({
      guess,
      status: 401,
    });
    const cookie = { cookie: `flotilla_session=${guess.replace(/[; ]/g, "")}` };
    expect((await call("GET", "/jobs", cookie)).status).toBe(401);
  }
  expect((await call("GET", "/jobs", { cookie: `flotilla_token=${token}` })).status).toBe(401);
  expect((await call("GET", `/jobs?token=${token}`, {})).status).toBe(401);
});

test("the last use of a token is reported, and written once a minute", async () => {
  await start({ SVC_ADMIN_PASSWORD: PASSWORD });
  const { token } = await make("viewer", password);
  const used = async () => (await call("GET", "/tokens", password)).body.tokens[0].last_used_at;
  expect(await used()).toBeNull();
  await call("GET", "/jobs", bearer(token));
  await until("the use to be written", 60_000, async () => (await used()) !== null);
  const first = await used();
  await call("GET", "/jobs", bearer(token));
  expect(await used()).toBe(first);
});
