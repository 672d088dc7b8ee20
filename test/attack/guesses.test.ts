import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { rawRequest } from "#test/support/clients/raw-request.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import { type Answer, startTestHub, type TestHub } from "#test/support/rigs/hub.ts";

/** Guesses at tokens anywhere but at the login: on routes, on paths that do not exist, and in handshakes of sockets. */

setDefaultTimeout(120_000);

const TOKEN = "t0ken-of-the-installation";
const SHORT = "sesame";
const PASSWORD = "password-of-the-test";

let hub: TestHub;
afterEach(() => hub?.close());
/** Time stands still, and so does every wait. */
const start = async (env: Record<string, string> = {}) => {
  const clock = createFakeClock();
  hub = await startTestHub({ alone: true, env: { SVC_ADMIN_PASSWORD: PASSWORD, ...env }, clock });
  return clock;
};
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const call = (method: string, path: string, headers: Record<string, string>, body?: unknown) =>
  hub.call(method, path, body, { headers });
const get = (path: string, token: string) => call("GET", path, bearer(token));
/** Until one is told to wait. */
async function guessUntilTold(guess: () => Promise<Answer>): Promise<Answer> {
  for (let i = 0; i < 120; i += 1) {
    const answer = await guess();
    if (answer.status === 429) return answer;
    expect(answer.status).toBe(401);
  }
  throw new Error("nobody was told to wait");
}

test.each([
  ["a route", "GET", "/jobs"],
  ["a route that changes something", "POST", "/jobs"],
  ["a route of the administrator", "GET", "/tokens"],
  ["a route of the pipeline", "GET", "/api/v1/workloads"],
  ["a path that there is not", "GET", "/nothing-here"],
])(
  "who guesses at %s is told to wait, also where the next guess is made",
  async (_, method, path) => {
    await start({ SVC_API_TOKEN: SHORT });
    const told = await guessUntilTold(() => call(method, path, bearer("guess")));
    expect(told.body.detail).toMatch(/^too many wrong tokens; wait \d+ s$/);
    expect(Number(told.headers.get("retry-after"))).toBeGreaterThan(0);
    for (const next of ["/workers", "/api/v1/status", "/elsewhere"])
      expect((await get(next, `flt_${"A".repeat(43)}`)).status).toBe(429);
    // The login counts for itself: mistakes of a program keep nobody out of it.
    expect((await call("POST", "/ui/login", {}, { token: "guess" })).status).toBe(401);
    // Who shows nothing guesses nothing.
    expect((await call("GET", "/jobs", {})).status).toBe(401);
  },
);

test("where the token cannot be guessed, a wrong one is 401 however often it is shown", async () => {
  await start({ SVC_API_TOKEN: TOKEN });
  for (let i = 0; i < 300; i += 1) expect((await get("/jobs", `guess-${i}`)).status).toBe(401);
  expect((await get("/jobs", TOKEN)).status).toBe(200);
});

test("a handshake of a socket is a guess like any other", async () => {
  await start({ SVC_API_TOKEN: SHORT });
  const shake = async (token: string) => {
    const head = [
      ...["GET /jobs/none/events HTTP/1.1", `Host: ${new URL(hub.url).host}`],
      ...[`Authorization: Bearer ${token}`, "Connection: Upgrade", "Upgrade: websocket"],
      ...["Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="],
    ];
    const answer = await rawRequest(hub.url, `${head.join("\r\n")}\r\n\r\n`);
    return Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]);
  };
  const seen = [];
  for (let i = 0; i < 120; i += 1) seen.push(await shake("guess"));
  expect(new Set(seen)).toEqual(new Set([401, 429]));
  expect((await get("/jobs", "guess")).status).toBe(429);
});

test("at the address of a guesser every token with a role, session and password opens what it did, also for the first time", async () => {
  await start({ SVC_API_TOKEN: SHORT });
  const admin = { ...bearer(SHORT), "x-admin-password": PASSWORD };
  const made = await call("POST", "/tokens", admin, { name: "v", role: "viewer" });
  expect(made.status).toBe(201);
  const session = await call("POST", "/ui/login", {}, { token: SHORT });
  const cookie = session.headers
    .getSetCookie()
    .map((line) => line.split(";", 1)[0])
    .join("; ");
  const unused = await call("POST", "/tokens", admin, { name: "first", role: "viewer" });
  await guessUntilTold(() => get("/jobs", "guess"));
  for (let i = 0; i < 20; i += 1) {
    expect((await get("/jobs", "guess")).status).toBe(429);
    expect((await get("/jobs", made.body.token)).status).toBe(200);
    expect((await call("GET", "/jobs", { cookie })).status).toBe(200);
  }
  expect((await get("/jobs", unused.body.token)).status).toBe(200);
  expect((await call("POST", "/ui/login", {}, { token: unused.body.token })).status).toBe(204);
  expect((await call("POST", "/ui/login", {}, { password: PASSWORD })).status).toBe(204);
});

test("a token that can be guessed opens nothing while its address waits, but does to a browser that was let in before, and after the wait", async () => {
  const clock = await start({ SVC_API_TOKEN: SHORT });
  const first = await call("POST", "/ui/login", {}, { token: SHORT });
  expect(first.status).toBe(204);
  const known = /flotilla_known=[^;]+/.exec(first.headers.getSetCookie().join("\n"))?.[0] ?? "";
  const session = /flotilla_session=[^;]+/.exec(first.headers.getSetCookie().join("\n"))?.[0] ?? "";
  await guessUntilTold(() => get("/jobs", "guess"));
  const right = await get("/jobs", SHORT);
  expect(right).toMatchObject({ status: 429 });
  expect((await call("GET", "/jobs", { cookie: session })).status).toBe(200);
  expect((await call("POST", "/ui/login", { cookie: known }, { token: SHORT })).status).toBe(204);
  expect((await call("GET", "/jobs", { ...bearer(SHORT), cookie: known })).status).toBe(200);
  await clock.advance(60_001);
  expect((await get("/jobs", SHORT)).status).toBe(200);
});

test("a crowd of guesses at once learns no more than one after the other", async () => {
  await start({ SVC_API_TOKEN: SHORT });
  const crowd = Array.from({ length: 400 }, (_, i) => get("/jobs", i < 350 ? `guess-${i}` : SHORT));
  const statuses = (await Promise.all(crowd)).map(({ status }) => status);
  const learned = statuses.slice(0, 350).filter((status) => status === 401).length;
  expect(learned).toBeLessThanOrEqual(101);
  expect(statuses.slice(350)).not.toContain(200);
});

test("where nobody is asked for a token nothing counts as a guess", async () => {
  await start();
  for (let i = 0; i < 20; i += 1) expect((await get("/jobs", `guess-${i}`)).status).toBe(200);
});
