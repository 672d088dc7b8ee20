import { afterEach, expect, test } from "bun:test";
import { openDb } from "#hub/platform/db/db.ts";
import { silentLog } from "#shared/kit/log.ts";
import { WORKER_LOST_ERROR } from "#shared/protocol/limits.ts";
import { createFakeClock, type FakeClock } from "#test/support/fakes/fake-clock.ts";
import { LOST } from "#test/support/models/lost.ts";
import { SUBMIT_WAIT_MS, startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";
import type { TestHubOptions } from "#test/support/rigs/hub-options.ts";
import { claimOf } from "#test/support/servers/db.ts";

/** What ran when its worker or its hub was lost (rules/jobs#lost-workers). */

let hub: TestHub;
const start = async (options?: TestHubOptions) => {
  hub = await startTestHub(options);
  return hub;
};
afterEach(() => hub.close());

const submit = (url = TARGET) => hub.call("POST", "/jobs", { url });
const job = async (job_id: string) => (await hub.call("GET", `/jobs/${job_id}`)).body;
/** A job left in the queue by a POST that found no lane within its 50 ms. */
const queue = async (url?: string, clock?: FakeClock): Promise<string> => {
  const waiting = submit(url);
  await clock?.sleeperIn(SUBMIT_WAIT_MS);
  await clock?.advance(SUBMIT_WAIT_MS);
  const answer = await waiting;
  expect(answer.status).toBe(503);
  return answer.body.job_id;
};

test("a link that disconnects fails the in-flight jobs of its worker with the message for it (rules/jobs#lost-workers)", async () => {
  await start();
  const worker = await hub.worker({ lanes: 2 });
  const first = (await submit()).body.job_id;
  const second = (await submit()).body.job_id;
  await worker.close();
  await hub.signals.next("link closed", { worker_id: "w11" });
  for (const id of [first, second])
    expect(await job(id)).toMatchObject({ status: "failed", error: LOST });
  expect(WORKER_LOST_ERROR).toBe("orchestrator killed by hub restart");
});

test("a worker that restarts on the same host replaces its silent link; what it ran is failed (rules/jobs#lost-workers)", async () => {
  const clock = createFakeClock();
  await start({ clock });
  const before = await hub.worker({ instance_id: "one" });
  const { job_id } = (await submit()).body;
  await clock.advance(30_001);
  await hub.worker({ instance_id: "two" });
  expect((await before.closed).code).toBe(4410);
  expect(await job(job_id)).toMatchObject({ status: "failed", error: LOST });
  expect((await submit()).status).toBe(200);
});

/** As after kill -9 of a hub: its stop leaves a row that says running. */
const leaveRunning = async (): Promise<string> => {
  const job_id = await queue();
  await hub.stop();
  const db = await openDb(hub.ctx.config.db_url, { log: silentLog });
  expect(await db.jobs.claim(claimOf(job_id))).toMatchObject({ status: "running" });
  await db.close();
  return job_id;
};

test("a hub that starts fails the jobs an earlier one left running (rules/jobs#hub-restarts)", async () => {
  await start();
  const job_id = await leaveRunning();
  await hub.restart();
  expect(await job(job_id)).toMatchObject({ status: "failed", error: LOST });
});

test("at hub start nothing is failed when another live hub key exists (rules/jobs#hub-restarts)", async () => {
  let other_lives = false;
  await start({
    onContext: ({ kv }) => {
      if (other_lives) void kv.set("hub:other", { at: 0 }, 90_000);
    },
  });
  const job_id = await leaveRunning();
  other_lives = true;
  await hub.restart();
  expect((await job(job_id)).status).toBe("running");
  other_lives = false;
  await hub.restart();
  expect(await job(job_id)).toMatchObject({ status: "failed", error: LOST });
});
