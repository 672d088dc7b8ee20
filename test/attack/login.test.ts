import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { createLogins } from "#hub/platform/access/logins.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";

/** A browser's login, and guesses at its token and password. */

setDefaultTimeout(300_000);

const TOKEN = "t0ken-of-the-installation";
const PASSWORD = "password-of-the-test";

let hub: TestHub;
afterEach(() => hub?.close());
const start = async (env: Record<string, string> = {}) => {
  hub = await startTestHub({ env: { SVC_ADMIN_PASSWORD: PASSWORD, ...env } });
};
const login = (given: object, cookie = "", headers: Record<string, string> = {}) =>
  hub.call("POST", "/ui/login", given, { headers: { ...(cookie && { cookie }), ...headers } });
/** The cookies of an answer, as a browser sends them back. */
const cookiesOf = ({ headers }: { headers: Headers }, name = /./) =>
  headers
    .getSetCookie()
    .map((line) => line.split(";", 1)[0] ?? "")
    .filter((pair) => name.test(pair))
    .join("; ");
const get = (path: string, cookie: string) =>
  hub.call("GET", path, undefined, { headers: { cookie } });

test("the cookie is a session's, for no script and no other site, and the token is nowhere in it", async () => {
  await start({ SVC_API_TOKEN: TOKEN });
  const answer = await login({ token: TOKEN });
  expect(answer.status).toBe(204);
  for (const line of answer.headers.getSetCookie()) {
    expect(line).toMatch(/^flotilla_(session|known)=[\w.-]{43,}; /);
    expect(line).toContain("; HttpOnly; SameSite=Strict");
    expect(line).not.toContain("Secure");
    expect(line).not.toContain(TOKEN);
  }
  const cookie = cookiesOf(answer, /session/);
  expect((await get("/jobs", cookie)).status).toBe(200);
  expect((await get("/jobs", `flotilla_token=${TOKEN}`)).status).toBe(401);
  expect((await get("/jobs", cookie.slice(0, -1))).status).toBe(401);
  expect((await get("/jobs", cookiesOf(answer, /known/))).status).toBe(401);
  const secure = await login({ token: TOKEN }, "", { "x-forwarded-proto": "https" });
  for (const line of secure.headers.getSetCookie()) expect(line).toContain("; Secure");
});

test("a session ends with its logout, its token and a new login, at once", async () => {
  await start();
  const admin = { headers: { "x-admin-password": PASSWORD } };
  const made = await hub.call("POST", "/tokens", { name: "v", role: "viewer" }, admin);
  await hub.everywhere((ctx) => ctx.tokens.exist);
  const open = async (before = "") =>
    cookiesOf(await login({ token: made.body.token }, before), /session/);
  const first = await open();
  expect((await get("/jobs", first)).status).toBe(200);
  expect((await get("/tokens", first)).status).toBe(403);
  const second = await open(first);
  const gone = async (cookie: string) => {
    return until("the end of the session", 60_000, async () => {
      const { status } = await get("/jobs", cookie);
      return status !== 200 && status;
    });
  };
  expect(await gone(first)).toBe(401);
  expect((await get("/jobs", second)).status).toBe(200);
  await hub.call("POST", "/ui/logout", undefined, { headers: { cookie: second } });
  expect(await gone(second)).toBe(401);
  const third = await open();
  expect((await get("/jobs", third)).status).toBe(200);
  await hub.call("DELETE", `/tokens/${made.body.token_id}`, undefined, admin);
  await hub.call("POST", "/tokens", { name: "v", role: "viewer" }, admin);
  expect(await gone(third)).toBe(401);
});

test("another password or SVC_API_TOKEN ends the sessions of the one before", async () => {
  await start({ SVC_API_TOKEN: TOKEN });
  const own = cookiesOf(await login({ token: TOKEN }), /session/);
  const admin = cookiesOf(await login({ password: PASSWORD }), /session/);
  expect((await get("/tokens", own)).status).toBe(401);
  expect((await get("/tokens", admin)).status).toBe(200);
  const secretIn = (cookie: string) => cookie.split("=")[1] ?? "";
  // As after a restart with other variables.
  const logins = (api_token: string | null, credential: string | null) =>
    createLogins({ ...hub.ctx, config: { api_token }, adminCredential: async () => credential });
  const kindOf = async (cookie: string, of: ReturnType<typeof logins>) =>
    (await of.callerOf(secretIn(cookie)))?.role;
  expect(await kindOf(own, logins(TOKEN, "x"))).toBeNull();
  expect(await kindOf(admin, logins("x", PASSWORD))).toBe("admin");
  for (const [token, password] of [
    ["another", "another"],
    [null, null],
  ] as const)
    for (const cookie of [own, admin])
      expect(await kindOf(cookie, logins(token, password))).toBeUndefined();
});

test("a wrong password opens no dialog of the browser's own, which would keep the page waiting", async () => {
  await start();
  const { status, headers } = await login({ password: "wrong" });
  expect(status).toBe(401);
  expect(headers.get("www-authenticate")).toStartWith("X-Admin-Password");
});

test("pages of another origin log nobody in or out", async () => {
  await start({ SVC_API_TOKEN: TOKEN });
  const foreign = { origin: "http://evil.test", "sec-fetch-site": "cross-site" };
  expect((await login({ token: TOKEN }, "", foreign)).status).toBe(403);
  const out = await hub.call("POST", "/ui/logout", undefined, { headers: foreign });
  expect(out.status).toBe(403);
});

test("who guesses waits, and lets in neither by the password nor by the token", async () => {
  await start({ SVC_API_TOKEN: TOKEN });
  for (const wrong of [
    { token: "x" },
    { password: "x" },
    { token: TOKEN, password: PASSWORD },
    {},
  ]) {
    const answers = [];
    for (let i = 0; i < 12; i++) answers.push(await login(wrong));
    const statuses = new Set(answers.map(({ status }) => status));
    if ("token" in wrong !== "password" in wrong) {
      expect(statuses).toEqual(new Set([401, 429]));
      expect(Number(answers.at(-1)?.headers.get("retry-after"))).toBeGreaterThan(0);
    } else expect(statuses).toEqual(new Set([422]));
  }
});

test("an attacker at the same address guesses without end: the administrator's known browser gets in at once, and guesses stay bounded", async () => {
  await start();
  const first = await login({ password: PASSWORD });
  const known = cookiesOf(first, /known/);
  const stop = new AbortController();
  const seen = new Map<number, number>();
  const guess = async () => {
    while (!stop.signal.aborted) {
      const { status } = await login({ password: "guess" });
      seen.set(status, (seen.get(status) ?? 0) + 1);
    }
  };
  const attackers = [guess(), guess(), guess(), guess()];
  while ((seen.get(429) ?? 0) < 30) await new Promise((next) => setImmediate(next));
  // Without its cookie it is one of the attacker's address.
  expect((await login({ password: PASSWORD })).status).toBe(429);
  for (let i = 0; i < 10; i++)
    expect((await login({ password: PASSWORD }, known)).status).toBe(204);
  // Its own wrong answers slow it down, and somebody else's cookie is none.
  const forged = `flotilla_known=${"A".repeat(43)}.${"A".repeat(43)}`;
  expect((await login({ password: PASSWORD }, forged)).status).toBe(429);
  const own = [];
  // The longer a login takes, the more of them are needed to come before a wait is over.
  for (let i = 0; i < 12; i++) own.push((await login({ password: "x" }, known)).status);
  expect(own).toContain(429);
  stop.abort();
  await Promise.all(attackers);
  // Five are free, then each waits twice as long as the one before: 1, 2, 4 … s.
  expect(seen.get(401) ?? 0).toBeLessThanOrEqual(16);
});

test("a browser that a token let in has no count of its own for the password", async () => {
  await start();
  const made = await hub.call(
    "POST",
    "/tokens",
    { name: "v", role: "viewer" },
    {
      headers: { "x-admin-password": PASSWORD },
    },
  );
  await hub.everywhere((ctx) => ctx.tokens.exist);
  const statuses = [];
  for (let i = 0; i < 12; i++) {
    const known = cookiesOf(await login({ token: made.body.token }), /known/);
    statuses.push((await login({ password: "x" }, known)).status);
  }
  expect(statuses).toContain(429);
});

test("the link of dev mode lets one browser in, once", async () => {
  await start({ SVC_API_TOKEN: TOKEN });
  const code = await hub.ctx.logins.newCode();
  const answers = await Promise.all(Array.from({ length: 5 }, () => login({ code })));
  expect(answers.map(({ status }) => status).sort()).toEqual([204, 401, 401, 401, 401]);
  const cookie = answers.map((one) => cookiesOf(one, /session/)).join("");
  expect((await get("/tokens", cookie)).status).toBe(200);
  expect((await login({ code })).status).toBe(401);
  expect((await login({ code: "x" })).status).toBe(401);
});
