import { afterAll, beforeAll, expect, test } from "bun:test";
import { loadHubConfig } from "#hub/platform/config.ts";
import { LINK_CLOSE } from "#shared/protocol/link/close.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";
import { loadWorkerConfig } from "#worker/config.ts";

/** A hub that asks people for a token asks workers too, also where nobody has made a secret for them. */

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
