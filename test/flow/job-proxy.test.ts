import { afterEach, expect, test } from "bun:test";
import type { EgressReport } from "#shared/protocol/egress-cover.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";
import type { TestHubOptions } from "#test/support/rigs/hub-options.ts";

/** Where a job and a session go out: whose proxy it is, who sees its login, and which workers may be given it. */

const SERVER = "http://proxy.test:3128";
const LOGIN = { username: "anna-of-the-proxy", password: "pw-of-the-proxy" };
const SECRET = /anna-of-the-proxy|pw-of-the-proxy/;
const MASKED = { server: SERVER, username: "***", password: "***", bypass: null };
const REAL = { server: SERVER, ...LOGIN, bypass: null };

let hub: TestHub;
const start = async (options?: TestHubOptions) => {
  hub = await startTestHub(options);
  return hub;
};
afterEach(() => hub.close());

const told = (egress: Partial<EgressReport> = {}) => ({
  egress: { mode: "open" as const, allow: [], deny: [], block: [], ...egress },
});
const submit = (options: object, url = TARGET) => hub.call("POST", "/jobs", { url, options });

test("a job's login goes to its worker alone: no record, no list, no log and no HAR has it", async () => {
  await start();
  const worker = await hub.worker(told());
  const answer = await submit({ proxy: { server: "proxy.test:3128", ...LOGIN } });
  expect(answer.status).toBe(200);
  expect(answer.body.options.proxy).toEqual(MASKED);
  const assigned = await worker.assigned.next();
  expect(assigned.extras).toMatchObject({ proxy: REAL, proxy_of: "job" });
  // A worker that knows no proxies refuses an option that it does not know, instead of going out without one.
  expect(assigned.options).toMatchObject({ proxy: MASKED });
  const { job_id } = answer.body;
  for (const path of [`/jobs/${job_id}`, "/jobs", `/jobs/${job_id}/events.json`, "/workers"])
    expect((await hub.call("GET", path)).text).not.toMatch(SECRET);
});

test("an address with a login in it is the same", async () => {
  await start();
  const worker = await hub.worker(told());
  const answer = await submit({
    proxy: `http://${LOGIN.username}:${LOGIN.password}@proxy.test:3128`,
  });
  expect(answer.body.options.proxy).toEqual(MASKED);
  expect((await worker.assigned.next()).extras.proxy).toEqual(REAL);
});

test("a job that goes back into the queue has its login for the next worker, and one that ended has none left", async () => {
  await start();
  const first = await hub.worker({ ...told(), on_assign: "refuse" });
  const waiting = submit({ proxy: REAL });
  const refused = await first.assigned.next();
  const second = await hub.worker({ ...told(), worker_id: "w2" });
  const again = await second.assigned.next();
  expect(again.extras.proxy).toEqual(REAL);
  expect(again.job_id).toBe(refused.job_id);
  await waiting;
  const { job_proxies } = hub.ctx.db;
  const later = hub.ctx.clock.now() + 1;
  await job_proxies.forgetEnded(later);
  expect(await job_proxies.get(again.job_id)).toEqual(REAL);
  second.finish(again);
  await second.settle();
  await job_proxies.forgetEnded(hub.ctx.clock.now() - 60_000);
  expect(await job_proxies.get(again.job_id)).toEqual(REAL);
  await job_proxies.forgetEnded(later);
  expect(await job_proxies.get(again.job_id)).toBeNull();
});

test("what a record shows in a login's place is not taken for one", async () => {
  await start();
  await hub.worker(told());
  const job = await submit({ proxy: MASKED });
  expect(job.status).toBe(422);
  expect(job.text).toContain("it must be given again");
  expect((await hub.call("POST", "/sessions", { proxy: MASKED })).status).toBe(422);
  const preset = await hub.call("PUT", "/presets/p", { options: { proxy: REAL } });
  expect(preset.status).toBe(422);
  expect(preset.text).not.toMatch(SECRET);
  const workload = await hub.call("POST", "/api/v1/workloads", {
    slug: "pages",
    executor_type: "fleet_fetch",
    executor_config: { options: { proxy: REAL } },
  });
  expect(workload.status).toBe(422);
  expect(workload.text).toContain("has a login");
  const plain = await hub.call("PUT", "/presets/p", { options: { proxy: SERVER } });
  expect(plain.status).toBe(200);
});

test.each([
  ["ftp://proxy.test", "must be http://"],
  ["http://proxy.test/path", "must be http://"],
  [{ server: SERVER, password: "x" }, "no username"],
  [{ server: SERVER, username: "a:b" }, "colon"],
  [{ server: SERVER, username: "a\r\nX: y" }, "control characters"],
  [{ server: SERVER, bypass: "http://x" }, "must be host names"],
])("%j is refused as a proxy", async (proxy, words) => {
  await start();
  const { status, text } = await submit({ proxy });
  expect([status, text]).toEqual([422, expect.stringContaining(words)]);
});

test("a host's proxy is for its jobs and sessions, where they name none", async () => {
  await start();
  const worker = await hub.worker({ ...told(), lanes: 3 });
  const host = new URL(TARGET).hostname;
  const put = await hub.call("PUT", `/hosts/${host}`, { proxy: REAL });
  expect(put.body.proxy).toEqual(MASKED);
  expect((await hub.call("GET", "/hosts")).text).not.toMatch(SECRET);
  await submit({});
  expect((await worker.assigned.next()).extras).toMatchObject({ proxy: REAL, proxy_of: "host" });
  const own = "socks5://own.test:1080";
  await submit({ proxy: own });
  expect((await worker.assigned.next()).extras).toMatchObject({
    proxy: { server: own, username: null },
    proxy_of: "job",
  });
  await hub.call("POST", "/sessions", { url: TARGET });
  expect(await worker.opening.next()).toMatchObject({ proxy: REAL, proxy_of: "host" });
});

test("a host's record that was read can be sent back, and its login goes to no other server", async () => {
  await start();
  const put = (body: object) => hub.call("PUT", "/hosts/site.test", body);
  const record = (await put({ proxy: REAL })).body;
  expect((await put({ ...record, notes: "seen" })).status).toBe(200);
  // A form that knows no proxies leaves it alone.
  await put({ notes: "again" });
  const stored = async () => (await hub.ctx.db.hosts.find(["site.test"]))[0]?.proxy;
  expect(JSON.stringify(await hub.ctx.db.hosts.list())).not.toMatch(SECRET);
  expect(await stored()).toEqual(REAL);
  const elsewhere = await put({ proxy: { ...MASKED, server: "http://evil.test:3128" } });
  expect(elsewhere.status).toBe(422);
  expect(await stored()).toEqual(REAL);
  await put({ proxy: null });
  expect(await stored()).toBeNull();
});

test("a job or session that asks for more than every worker allows is 422, with what is in the way", async () => {
  await start();
  await hub.worker({ ...told({ mode: "public", allow: ["10.1.0.0/16"] }), worker_id: "wp" });
  const wide = await submit({ egress: { mode: "open" } });
  expect(wide.status).toBe(422);
  expect(wide.text).toContain("worker wp is in egress mode public, but open is requested");
  expect((await submit({ egress: { allow: ["192.168.1.1"] } })).text).toContain(
    "worker wp does not allow 192.168.1.1",
  );
  const session = await hub.call("POST", "/sessions", { egress: { mode: "open" } });
  expect([session.status, session.text]).toEqual([422, expect.stringContaining("wp is in egress")]);
  expect((await submit({ egress: { allow: ["10.1.2.3:80"] } })).status).toBe(200);
});

test("a job goes to the worker that allows what it asks for, and waits for it", async () => {
  await start();
  const narrow = await hub.worker({ ...told({ mode: "public" }), worker_id: "wn" });
  const wide = await hub.worker({ ...told(), worker_id: "ww" });
  const answer = await submit({ egress: { mode: "open" } });
  expect(answer.body.worker_id).toBe("ww");
  await wide.assigned.next();
  const second = await submit({ egress: { mode: "open" } });
  expect(second.status).toBe(503);
  expect(second.body.waiting_for.detail).toContain("a worker that allows its egress");
  expect((await submit({})).body.worker_id).toBe("wn");
  await narrow.assigned.next();
});

test("a worker that tells nothing of its egress is given no session that needs it", async () => {
  await start();
  await hub.worker({ worker_id: "old" });
  const answer = await hub.call("POST", "/sessions", { proxy: SERVER });
  expect([answer.status, answer.text]).toEqual([
    422,
    expect.stringContaining("worker old is of a version that cannot do it"),
  ]);
});

test("nothing of a login is in the hub's database but beside the job that has not ended", async () => {
  await start();
  const answer = await hub.call("POST", "/jobs", { url: TARGET, options: { proxy: REAL } });
  const { job_id } = answer.body;
  const row = await hub.ctx.db.jobs.get(job_id);
  expect(JSON.stringify(row)).not.toMatch(SECRET);
  expect(await hub.ctx.db.job_proxies.get(job_id)).toEqual(REAL);
  const [stored] = await hub.ctx.db.job_proxies.list();
  expect(JSON.stringify(stored)).not.toMatch(SECRET);
  expect(stored?.proxy).toMatchObject({
    server: SERVER,
    password: expect.stringMatching(/^sealed:/),
  });
});
