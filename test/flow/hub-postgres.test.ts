import { afterAll, beforeAll, expect, test } from "bun:test";
import postgres from "postgres";
import { redriveOnce } from "#hub/fleet/jobs/passes.ts";
import { LOST } from "#test/support/models/lost.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";
import { startPostgres, type TestPostgres } from "#test/support/servers/postgres.ts";

/** The main flow on a real Postgres: the same hub, the same rows of rules/jobs#states. */

let server: TestPostgres;
let hub: TestHub;
beforeAll(async () => {
  server = await startPostgres();
  hub = await startTestHub({ env: { SVC_DB_URL: await server.createDatabase() } });
}, 180_000);
afterAll(async () => {
  await hub?.close();
  await server?.stop();
}, 180_000);

const job = async (job_id: string) => (await hub.call("GET", `/jobs/${job_id}`)).body;

test("a job runs from POST to its files, with its log and events", async () => {
  const worker = await hub.worker({ lanes: 2 });
  const { status, body } = await hub.call("POST", "/jobs", { url: TARGET });
  expect({ status, job: body.status }).toEqual({ status: 200, job: "running" });
  const assigned = await worker.assigned.next();
  worker.log(assigned, "navigate", "opening");
  expect((await worker.putAsset(assigned, "0123456789", { name: "ä.png" })).status).toBe(200);
  expect((await worker.putAsset(assigned, "0123456789", { name: "ä.png" })).status).toBe(200);
  expect((await worker.putDocument(assigned, "page.html", "<p>")).status).toBe(200);
  worker.finish(assigned, { title: "A \u0000 title" });
  await hub.signals.next("lane freed");
  expect(await job(body.job_id)).toMatchObject({
    status: "completed",
    asset_count: 1,
    asset_bytes: 10,
    stage: "done",
    title: "A \ufffd title",
  });
  const { items } = (await hub.call("GET", `/jobs/${body.job_id}/assets.json`)).body;
  expect((await hub.call("GET", items[0].href)).text).toBe("0123456789");
  expect((await hub.call("GET", `/jobs/${body.job_id}/log.txt`)).text).toContain(
    "navigate  opening",
  );
  expect((await hub.call("DELETE", `/jobs/${body.job_id}`)).status).toBe(204);
  await worker.close();
  await hub.signals.next("link closed");
});

test("503, pull when a worker comes, requeue, cancel, and loss of the worker", async () => {
  const waiting = (await hub.call("POST", "/jobs", { url: TARGET })).body;
  expect(waiting.detail).toBe("fleet at capacity");
  expect(await job(waiting.job_id)).toMatchObject({ status: "queued", queue_position: 1 });
  const refusing = await hub.worker({ on_assign: "refuse" });
  await hub.signals.next("job requeued", { job_id: waiting.job_id });
  await refusing.close();
  await hub.signals.next("link closed");
  const worker = await hub.worker();
  await hub.signals.next("job assigned", { job_id: waiting.job_id });
  const second = (await hub.call("POST", "/jobs", { url: TARGET })).body.job_id;
  expect((await hub.call("POST", `/jobs/${second}/cancel`)).body.status).toBe("cancelled");
  await worker.close();
  await hub.signals.next("link closed");
  expect(await job(waiting.job_id)).toMatchObject({ status: "failed", error: LOST });
  expect(await redriveOnce(hub.ctx)).toBe(0);
});

test("a second hub on the database is refused and fails no job; a control plane may run beside", async () => {
  const worker = await hub.worker();
  const { job_id } = (await hub.call("POST", "/jobs", { url: TARGET })).body;
  const env = { SVC_DB_URL: hub.ctx.config.db_url };
  await expect(startTestHub({ env })).rejects.toThrow(/^SVC_DB_URL: another hub uses this/);
  const control = await startTestHub({ env, mode: "control" });
  expect((await control.call("GET", "/api/v1/health")).status).toBe(200);
  await control.close();
  expect((await job(job_id)).status).toBe("running");
  await worker.close();
  await hub.signals.next("link closed");
  // The second one waits 3 s for a hub that may be closing.
}, 180_000);

test("many at once: every job is claimed by exactly one lane, all end", async () => {
  const workers = await Promise.all(
    [1, 2, 3, 4].map((i) => hub.worker({ worker_id: `w${i}`, address: `10.0.0.${i}`, lanes: 3 })),
  );
  const given: string[] = [];
  for (const worker of workers)
    void (async () => {
      for (;;) {
        const assigned = await worker.assigned.next();
        given.push(assigned.job_id);
        worker.finish(assigned);
      }
    })();
  const answers = await Promise.all(
    Array.from({ length: 60 }, (_, i) =>
      hub.call("POST", "/jobs", { url: `http://site.test/${i}` }),
    ),
  );
  for (const { body } of answers) {
    const now = await job(body.job_id);
    if (now.status !== "completed") await hub.signals.next("job finished", { job_id: body.job_id });
  }
  expect(given.length).toBe(60);
  expect(new Set(given).size).toBe(60);
});

test("SVC_DB_POOL_SIZE bounds a hub's connections, however much it is asked at once (rules/storage#postgres)", async () => {
  const url = await server.createDatabase();
  const env = { SVC_DB_URL: url, SVC_DB_POOL_SIZE: "2" };
  const small = await startTestHub({ env });
  const sql = postgres(url, { max: 1 });
  try {
    const answers = await Promise.all(Array.from({ length: 20 }, () => small.call("GET", "/jobs")));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    const [taken] = await sql`select count(*)::int as connections from pg_stat_activity
      where datname = current_database() and application_name = 'flotilla'`;
    expect(taken).toEqual({ connections: 2 });
  } finally {
    await sql.end({ timeout: 1 });
    await small.close();
  }
});

test("text no database takes as it is never makes a 500", async () => {
  for (const options of [{ goal: "a\u0000b" }, { referer: "\ud800" }]) {
    const answer = await hub.call("POST", "/jobs", { url: TARGET, options });
    expect([200, 422, 503]).toContain(answer.status);
  }
  for (const query of ["q=%00", "host=%00", "worker_id=%00", "q=%ED%A0%80", "q=%25_'\\"])
    expect((await hub.call("GET", `/jobs?${query}`)).status).toBe(200);
  for (const path of ["/workers/w%00/status", "/workers/%ff/status"])
    expect((await hub.call("POST", path, { status: "drain" })).status).toBe(404);
});
