import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { loadHubConfig } from "#hub/platform/config.ts";
import { workerSecret } from "#shared/kit/secret.ts";
import { LINK_CLOSE } from "#shared/protocol/link/close.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";
import { loadWorkerConfig } from "#worker/config.ts";

/** A hub that asks people for a token asks workers too, even where nobody has made a secret for them. */

const TOKEN = "attack-api-token";
const people = { authorization: `Bearer ${TOKEN}` };

let hub: TestHub;
beforeAll(async () => {
  hub = await startTestHub({ alone: true, env: { SVC_API_TOKEN: TOKEN } });
});
afterAll(() => hub?.close());

const WRONG: [string, { secret?: string }][] = [
  ["no secret", {}],
  ["an empty one", { secret: "" }],
  ["a guess", { secret: "secret" }],
  ["the token itself", { secret: TOKEN }],
  [
    "the secret of another token",
    { secret: `${loadHubConfig({ SVC_API_TOKEN: "x" }).worker_secret}` },
  ],
];

test("a stranger cannot register as a worker, and is sent no job with the cookies of its host (rules/worker-link#bad-worker-secret)", async () => {
  const cookies = [{ name: "sid", value: "attack-cookie", domain: "site.test" }];
  const put = await hub.call("PUT", "/hosts/site.test/cookies", { cookies }, { headers: people });
  expect(put.status).toBeLessThan(300);
  const strangers = WRONG.map(([, secret], i) =>
    hub.dial({ worker_id: `w66${i}`, secret: "", ...secret }),
  );
  const ends = await Promise.all(strangers.map(({ closed }) => closed));
  expect(ends).toEqual(
    WRONG.map(() => ({ code: LINK_CLOSE.bad_secret, reason: "bad worker secret" })),
  );
  const job = await hub.call("POST", "/jobs", { url: TARGET }, { headers: people });
  expect(job.status).toBe(503);
  const { body } = await hub.call("GET", "/workers", undefined, { headers: people });
  expect(body.workers).toEqual([]);
  for (const stranger of strangers) expect(stranger.sent.length).toBeLessThanOrEqual(1);
});

test("a stranger ships no service logs, and nobody pulls tasks or resolves engines with the token alone", async () => {
  const body = { host: "h", service: "worker", logs: [] };
  const register = { incarnation: "b1946ac92492d234", host: "h", slots: 1, version: "1" };
  for (const [, { secret = "" }] of WRONG) {
    const headers = { ...people, "x-worker-secret": secret };
    const answers = await Promise.all([
      hub.call("POST", "/api/v1/service-logs", body, { headers }),
      hub.call("POST", "/api/v1/workers/w9/register", register, { headers }),
      hub.call("GET", "/engines/x/resolve", undefined, { headers }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401]);
  }
});

test("a worker that knows the token needs nothing more, and hubs with one token agree", async () => {
  const { worker_secret } = loadWorkerConfig({ SVC_API_TOKEN: TOKEN }, {});
  const worker = await hub.worker({ secret: worker_secret ?? "" });
  expect((await worker.registered).type).toBe("HubRegistered");
  const secretOf = (env: Record<string, string>) => loadHubConfig(env).worker_secret;
  expect(worker_secret).toBe(secretOf({ SVC_API_TOKEN: TOKEN }));
  expect(worker_secret).not.toContain(TOKEN);
  expect(secretOf({ SVC_API_TOKEN: "another" })).not.toBe(worker_secret);
  expect(secretOf({ SVC_API_TOKEN: TOKEN, WORKER_SECRET: "own" })).toBe("own");
  expect(secretOf({})).toBeNull();
  // A token with a role is one of many: no secret is made of it, and it is not the installation's own.
  const role_token = `flt_${"x".repeat(43)}`;
  expect(loadWorkerConfig({ SVC_API_TOKEN: role_token }, {}).worker_secret).toBeNull();
  expect(() => loadHubConfig({ SVC_API_TOKEN: role_token })).toThrow("SVC_API_TOKEN");
});

describe("where the secret is short enough to be guessed", () => {
  const SHORT = "sesame";
  let guarded: TestHub;
  let clock: ReturnType<typeof createFakeClock>;
  beforeEach(async () => {
    clock = createFakeClock();
    guarded = await startTestHub({ alone: true, env: { WORKER_SECRET: SHORT }, clock });
  });
  afterEach(() => guarded.close());

  const LOGS = { host: "h", service: "worker", logs: [] };
  const show = (secret: string) =>
    guarded.call("POST", "/api/v1/service-logs", LOGS, { headers: { "x-worker-secret": secret } });
  const mark = (proof: string) =>
    guarded.call("GET", "/health", undefined, {
      headers: { "flotilla-relay": "hub-1", "flotilla-relay-proof": proof },
    });
  const joins = async (secret: string) => {
    const worker = guarded.dial({ secret });
    return Promise.race([worker.closed, worker.registered.then(() => null).catch(() => null)]);
  };
  /** Until one is told to wait. */
  const guessUntilTold = async (guess: () => Promise<{ status: number }>, wrong: number) => {
    for (let i = 0; i < 120; i += 1) {
      const { status } = await guess();
      if (status === 429) return i;
      expect(status).toBe(wrong);
    }
    throw new Error("nobody was told to wait");
  };

  test("who guesses in headers waits, also with the right one and on the link, and nobody who shows none", async () => {
    expect(await guessUntilTold(() => show("guess"), 401)).toBeGreaterThanOrEqual(100);
    const told = await show(SHORT);
    expect(told.status).toBe(429);
    expect(told.body.detail).toMatch(/^too many wrong worker secrets; wait \d+ s$/);
    expect(Number(told.headers.get("retry-after"))).toBeGreaterThan(0);
    const closed = await joins(SHORT);
    expect(closed?.code).toBe(LINK_CLOSE.bad_secret);
    expect(closed?.reason).toMatch(/^too many wrong worker secrets; wait \d+ s$/);
    expect((await show("")).status).toBe(401);
    // People's calls are nobody's guesses at a worker's secret.
    expect((await guarded.call("GET", "/jobs")).status).toBe(200);
    await clock.advance(60_001);
    expect((await show(SHORT)).status).toBeLessThan(300);
  });

  test("registrations and marks of hubs count among the same", async () => {
    for (let i = 0; i < 50; i += 1) expect((await joins(`guess-${i}`))?.code).toBe(4401);
    expect(await guessUntilTold(() => mark("0".repeat(64)), 403)).toBeLessThanOrEqual(51);
    expect((await show(SHORT)).status).toBe(429);
  });

  test("a connected worker stays, no matter who guesses at its address", async () => {
    const worker = await guarded.worker({ secret: SHORT });
    await guessUntilTold(() => show("guess"), 401);
    worker.heartbeat();
    const { body } = await guarded.call("GET", "/workers");
    expect(body.workers).toMatchObject([{ alive: true }]);
  });
});

test("where the secret cannot be guessed, a wrong one is refused however often it is shown, and the right one never waits", async () => {
  const { worker_secret } = loadHubConfig({ SVC_API_TOKEN: TOKEN });
  const body = { host: "h", service: "worker", logs: [] };
  const show = (secret: string) =>
    hub.call("POST", "/api/v1/service-logs", body, { headers: { "x-worker-secret": secret } });
  for (let i = 0; i < 150; i += 1) expect((await show(`guess-${i}`)).status).toBe(401);
  expect((await show(worker_secret ?? "")).status).toBeLessThan(300);
});

test("a secret that is made of a short token is as easy to guess as that", async () => {
  const short = await startTestHub({ alone: true, env: { SVC_API_TOKEN: "sesame" } });
  try {
    const body = { host: "h", service: "worker", logs: [] };
    const statuses = new Set<number>();
    for (let i = 0; i < 105; i += 1) {
      const headers = { "x-worker-secret": workerSecret(undefined, `guess-${i}`) ?? "" };
      statuses.add((await short.call("POST", "/api/v1/service-logs", body, { headers })).status);
    }
    expect(statuses).toEqual(new Set([401, 429]));
  } finally {
    await short.close();
  }
});
