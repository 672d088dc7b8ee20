import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { openShared, type SharedStores } from "#hub/platform/stores/open-shared.ts";
import { systemClock } from "#shared/kit/clock.ts";
import { ConfigError } from "#shared/kit/env.ts";
import { AppError } from "#shared/kit/errors.ts";
import { silentLog } from "#shared/kit/log.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { startRedis, type TestRedis } from "#test/support/servers/redis.ts";

/** The connection to Redis: what is told when it cannot be made, and what happens when it is lost. */

// A machine that does other things too.
setDefaultTimeout(180_000);

const PASSWORD = "s3cret/ä@:";
let server: TestRedis;
beforeAll(async () => {
  server = await startRedis({ password: PASSWORD });
});
afterAll(() => server.stop());

const open = (url: string, prefix = "flotilla:"): Promise<SharedStores> =>
  openShared({ driver: "redis", url, prefix }, { clock: systemClock, log: silentLog });
const kindOf = (err: unknown) => (err instanceof AppError ? err.kind : err);

test("a fleet that cannot reach Redis does not start, and says why without the password (rules/cluster#when-redis-is-away)", async () => {
  const closed = server.url.replace(/:\d+$/, ":1");
  const cases: [string, RegExp][] = [
    [server.url.replace(/:[^:@]*@/, ":wrong@"), /WRONGPASS/],
    [server.url.replace(/:[^:@]*@/, ""), /NOAUTH/],
    [`${server.url}/99`, /DB index is out of range/],
    [closed, /ECONNREFUSED|connect/i],
    ["http://127.0.0.1:1", /must be redis:/],
    ["not a url", /must be redis:/],
  ];
  for (const [url, why] of cases) {
    const err = await open(url).then(
      () => null,
      (thrown: unknown) => thrown,
    );
    expect(err).toBeInstanceOf(ConfigError);
    expect(String(err)).toMatch(/SVC_REDIS_URL: /);
    expect(String(err)).toMatch(why);
    for (const secret of [PASSWORD, encodeURIComponent(PASSWORD), "wrong"])
      expect(String(err)).not.toContain(secret);
  }
});

test("fleets with other prefixes, or in other databases of one Redis, do not see each other", async () => {
  const stores = [
    await open(server.url, "a:"),
    await open(server.url, "b:"),
    await open(`${server.url}/3`, "a:"),
  ];
  const [first, ...others] = stores;
  const want = { worker_id: "w1", lanes: [0], max_concurrent: 1, ttl_ms: 60_000 };
  const ids = { job_id: null, session_id: "s" };
  await first?.kv.set("worker:w1", 1, 60_000);
  expect(await first?.leases.acquire({ ...want, ...ids })).not.toBeNull();
  for (const other of others) {
    expect(await other.kv.list("worker:")).toEqual([]);
    expect(await other.leases.list("w1")).toEqual([]);
    expect(await other.leases.acquire({ ...want, ...ids })).not.toBeNull();
  }
  await Promise.all(stores.map((store) => store.close()));
});

test("while Redis is silent calls fail after 1.5 s, then at once; when it answers again all goes on (rules/storage#redis)", async () => {
  const { kv, leases, pubsub, close } = await open(server.url);
  const heard = Promise.withResolvers<unknown>();
  await pubsub.subscribe("x", heard.resolve);
  server.freeze();
  const started = performance.now();
  const late = await Promise.allSettled([kv.get("a"), leases.list("w1"), kv.set("a", 1, 1_000)]);
  expect(performance.now() - started).toBeGreaterThan(1_400);
  for (const each of late)
    expect(each.status === "rejected" && kindOf(each.reason)).toBe("unavailable");
  const then = performance.now();
  for (let i = 0; i < 1_000; i += 1) expect(await kv.get("a").catch(kindOf)).toBe("unavailable");
  // If each of them waited as the first did, they would take 25 minutes.
  expect(performance.now() - then).toBeLessThan(60_000);
  server.thaw();
  await usable(kv);
  // The subscriber's connection carries nothing and is asked every few seconds: of a long silence it is made anew.
  let told: unknown = null;
  void heard.promise.then((message) => {
    told = message;
  });
  await until("a message", 60_000, () => {
    pubsub.publish("x", 1);
    return told !== null;
  });
  expect(told).toBe(1);
  await close();
});

test("a killed Redis is found again with its subscriptions, scripts are sent anew, tokens go on rising", async () => {
  const { kv, leases, pubsub, close } = await open(server.url);
  const want = { worker_id: "w9", lanes: [0, 1], max_concurrent: 2, ttl_ms: 60_000 };
  const before = await leases.acquire({ ...want, job_id: "a", session_id: "s" });
  const heard = Promise.withResolvers<unknown>();
  await pubsub.subscribe("early", () => {});
  const gap = new Promise<void>((resolve) => pubsub.onGap(resolve));
  await server.kill();
  expect(await kv.set("a", 1, 1_000).catch(kindOf)).toBe("unavailable");
  expect(await leases.list("w9").catch(kindOf)).toBe("unavailable");
  // Neither waits nor rejects while it is away; it works after the gap.
  await pubsub.subscribe("x", heard.resolve);
  pubsub.publish("x", "lost");
  await server.restart();
  await gap;
  await usable(kv);
  pubsub.publish("x", "heard");
  expect(await heard.promise).toBe("heard");
  expect(await leases.list("w9")).toEqual([]);
  const after = await leases.acquire({ ...want, job_id: "b", session_id: "t" });
  expect(after?.token).toBeGreaterThan(before?.token ?? Number.POSITIVE_INFINITY);
  if (before) await leases.renew("w9", [{ ...before, lane_idx: 1 }], 60_000);
  expect((await leases.list("w9")).map((lease) => lease.job_id)).toEqual(["b", "a"]);
  await close();
});

/** Resolves when the store answers; each try is a call of its own. */
async function usable(kv: SharedStores["kv"]): Promise<void> {
  const answers = () =>
    kv.set("probe", 1, 1_000).then(
      () => true,
      () => false,
    );
  await until("Redis", 60_000, answers, 10);
}

test("keys of workers, sessions and hubs that come and go are bounded, also those nobody lists", async () => {
  await server.flush();
  const { kv, leases, close } = await open(server.url);
  for (let i = 0; i < 300; i += 1) {
    await Promise.all([
      kv.set(`worker:w${i}`, { i }, 5),
      kv.set(`session:s${i}`, { i }, 5),
      leases.acquire({
        worker_id: `w${i}`,
        lanes: [0],
        max_concurrent: 1,
        job_id: null,
        session_id: `s${i}`,
        ttl_ms: 5,
      }),
    ]);
  }
  await systemClock.sleep(10);
  await kv.set("session:last", 1, 60_000);
  const keys: string[] = (await server.send("KEYS", "*")).sort();
  expect(keys).toEqual([
    "flotilla:{kv:session}",
    "flotilla:{kv:session}:session:last",
    "flotilla:{leases}:token",
  ]);
  expect(await server.send("ZCARD", "flotilla:{kv:session}")).toBe(1);
  await close();
});

test("a thousand workers are listed in a few milliseconds, beside thousands of other keys (rules/scheduling#large-fleets)", async () => {
  const { kv, close } = await open(server.url);
  const text = "x".repeat(200);
  const entry = { lanes: [0, 1, 2, 3].map((lane_idx) => ({ lane_idx, state: "warm", text })) };
  // In pieces: each call has 1.5 s, on a busy machine too.
  for (let i = 0; i < 3_000; i += 100)
    await Promise.all(
      Array.from({ length: 100 }, (_, k) =>
        i < 1_000
          ? kv.set(`worker:w${i + k}`, entry, 60_000)
          : kv.set(`session:s${i + k}`, i, 60_000),
      ),
    );
  const times: number[] = [];
  for (let i = 0; i < 9; i += 1) {
    const started = performance.now();
    expect(await kv.list("worker:")).toHaveLength(1_000);
    times.push(performance.now() - started);
  }
  const one: number[] = [];
  for (let i = 0; i < 9; i += 1) {
    const started = performance.now();
    expect(await kv.get("worker:w1")).not.toBeNull();
    one.push(performance.now() - started);
  }
  const median = (of: number[]) => of.sort((a, b) => a - b)[4] ?? 0;
  // 7 ms; on a machine that does other things too as many calls as a dozen of one worker take. Each by itself: a thousand.
  expect(median(times)).toBeLessThan(200 + 100 * median(one));
  await close();
});
