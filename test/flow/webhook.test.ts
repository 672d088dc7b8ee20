import { afterEach, beforeEach, expect, test } from "bun:test";
import { type AddressInfo, createServer } from "node:net";
import { createFakeClock, type FakeClock } from "#test/support/fakes/fake-clock.ts";
import type { FakeWorker } from "#test/support/fakes/fake-worker.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";
import { until } from "#test/support/rigs/hubs.ts";

/** Setting webhook_url (rules/jobs#webhook): the record of every job that ends is posted there. */

interface Received {
  event: string | null;
  delivery: string | null;
  body: { job_id: string; status: string };
}

let hub: TestHub;
let clock: FakeClock;
let worker: FakeWorker;
let receiver: ReturnType<typeof Bun.serve>;
let received: Received[];
/** What is answered, one for each call; 200 afterwards. */
let answers: (() => Response | Promise<Response>)[];

beforeEach(async () => {
  received = [];
  answers = [];
  receiver = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      const { headers } = request;
      const delivery = headers.get("x-flotilla-delivery");
      const body = (await request.json()) as Received["body"];
      received.push({ event: headers.get("x-flotilla-event"), delivery, body });
      return answers.shift()?.() ?? new Response("thanks");
    },
  });
  clock = createFakeClock();
  // The waits between tries without their jitter: 750 ms, 1.5 s, 3 s, 6 s.
  hub = await startTestHub({ alone: true, clock, random: () => 0.5 });
  worker = await hub.worker();
  await hub.call("PATCH", "/settings", { webhook_url: `${receiver.url}hook/secret-path` });
});
afterEach(async () => {
  await hub.close();
  await receiver.stop(true);
});

async function endJob(more = {}): Promise<string> {
  const submitted = hub.call("POST", "/jobs", { url: TARGET });
  const job = await worker.assigned.next();
  await submitted;
  worker.finish(job, more);
  await hub.signals.next("job finished", { job_id: job.job_id });
  await hub.signals.next("lane freed");
  return job.job_id;
}
const taken = (n: number) => until(() => received.length === n);
const warning = async (text: string) => {
  const found = () => hub.log.find(({ message }) => String(message).startsWith(text));
  await until(() => found() !== undefined);
  return found() ?? {};
};
const failing = () => new Response("no", { status: 500 });

test("the record of a job that ends is posted, however it ended", async () => {
  const done = await endJob();
  await taken(1);
  expect(received[0]).toMatchObject({ event: "job.completed", delivery: done });
  expect(received[0]?.body).toEqual((await hub.call("GET", `/jobs/${done}`)).body);
  const failed = await endJob({ status: "failed", error: "no page" });
  await taken(2);
  expect(received[1]).toMatchObject({
    event: "job.failed",
    body: { job_id: failed, error: "no page" },
  });
  await hub.call("PATCH", "/settings", { webhook_url: null });
  await endJob();
  await hub.call("GET", "/health");
  expect(received.length).toBe(2);
});

test("a receiver that fails is tried again with growing waits", async () => {
  answers = [failing, () => new Response(null, { status: 429 }), failing];
  const job_id = await endJob();
  for (const [n, wait_ms] of [750, 1_500, 3_000].entries()) {
    await taken(n + 1);
    await clock.sleeperIn(wait_ms);
    await clock.advance(wait_ms);
  }
  await taken(4);
  expect(received.map(({ delivery }) => delivery)).toEqual(Array(4).fill(job_id));
});

test("so is one that cuts the connection; a new address counts for the next try", async () => {
  const cutting = createServer((socket) => socket.destroy());
  await new Promise<void>((listening) => cutting.listen(0, "127.0.0.1", listening));
  const { port } = cutting.address() as AddressInfo;
  await hub.call("PATCH", "/settings", { webhook_url: `http://127.0.0.1:${port}/` });
  const job_id = await endJob();
  await clock.sleeperIn(750);
  cutting.close();
  await hub.call("PATCH", "/settings", { webhook_url: receiver.url.href });
  await clock.advance(750);
  await taken(1);
  expect(received[0]?.delivery).toBe(job_id);
});

test("after 5 tries it is given up, which the log says without the address", async () => {
  answers = Array(5).fill(failing);
  const job_id = await endJob();
  for (const wait_ms of [750, 1_500, 3_000, 6_000]) {
    await clock.sleeperIn(wait_ms);
    await clock.advance(wait_ms);
  }
  expect(await warning("webhook was not accepted")).toMatchObject({ job_id, error: "HTTP 500" });
  expect(received.length).toBe(5);
  expect(JSON.stringify(hub.log)).not.toContain("secret-path");
});

test("a receiver that never answers holds up no job, and is cut off after 10 s", async () => {
  answers = [() => new Promise(() => {})];
  const first = await endJob();
  await taken(1);
  const second = await endJob();
  await taken(2);
  expect(received[1]?.delivery).toBe(second);
  await clock.advance(10_000);
  await clock.sleeperIn(750);
  await clock.advance(750);
  await taken(3);
  expect(received[2]?.delivery).toBe(first);
});

test("what the receiver refuses, and where it sends one on, is not tried again", async () => {
  answers = [
    () => new Response(null, { status: 410 }),
    () => new Response(null, { status: 302, headers: { location: "/other" } }),
  ];
  await endJob();
  expect(await warning("webhook was not accepted")).toMatchObject({ error: "HTTP 410" });
  hub.log.length = 0;
  await endJob();
  expect(await warning("webhook was not accepted")).toMatchObject({ error: "HTTP 302" });
  expect(received.length).toBe(2);
});

test("a name of a cloud's metadata service is refused when it is called, too", async () => {
  await hub.ctx.db.settings.set("webhook_url", "http://metadata.google.internal/", 0);
  hub.ctx.settings_cache.clear();
  await endJob();
  // A stored value that no rule allows counts as none.
  expect(received).toEqual([]);
});

test("a hub that stops gives up what is not told yet, at once", async () => {
  answers = [failing];
  await endJob();
  await clock.sleeperIn(750);
  await hub.stop();
  expect(await warning("webhooks given up")).toMatchObject({ given_up: 1 });
  expect(received.length).toBe(1);
});
