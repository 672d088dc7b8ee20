import { afterAll, beforeAll, expect, test } from "bun:test";
import { Figures } from "#shared/protocol/schema/figures.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";

/** GET /figures (rules/figures#figures-of-the-fleet). */

let hub: TestHub;
beforeAll(async () => {
  // An answer is used again, and a call may reach another hub of a fleet.
  hub = await startTestHub({ alone: true });
});
afterAll(() => hub.close());

const read = async (range: string) => {
  const { status, body } = await hub.call("GET", `/figures?range=${range}`);
  expect(status).toBe(200);
  return Figures.parse(body);
};

test("an empty hub says that nothing has begun, and that no worker is there", async () => {
  const found = await read("7d");
  expect(found.begun).toEqual({ captured: false, session: false, engine: false });
  expect(found.captures.buckets).toHaveLength(28);
  expect(found.captures.total).toEqual({
    completed: 0,
    http_error: 0,
    failed: 0,
    cancelled: 0,
    open: 0,
  });
  expect(found.lanes).toEqual({ total: 0, busy: 0, free: 0, workers: 0 });
  expect(found.problems.map(({ kind }) => kind)).toEqual(["no_worker"]);
});

test("a range that is none is refused", async () => {
  expect((await hub.call("GET", "/figures?range=2h")).status).toBe(422);
});

test("captures are counted by what became of them, and found again by the same words", async () => {
  const worker = await hub.worker({ worker_id: "fig-1" });
  const run = async (fields: object) => {
    const { job_id } = (await hub.call("POST", "/jobs", { url: TARGET })).body;
    worker.finish(await worker.assigned.next(), fields);
    await hub.signals.next("job finished", { job_id });
    return job_id as string;
  };
  const good = await run({ http_status: 200 });
  const bad = await run({ http_status: 500 });
  const failed = await run({ status: "failed", error: "no such host" });
  const found = await read("1h");
  expect(found.captures.total).toMatchObject({ completed: 1, http_error: 1, failed: 1 });
  expect(found.captures.buckets.at(-1)?.from.endsWith(":00.000Z")).toBe(true);
  expect(found.begun.captured).toBe(true);
  expect(found.hosts.failing).toMatchObject([
    { host: new URL(TARGET).hostname, captures: 3, completed: 1, http_error: 1, failed: 1 },
  ]);
  expect(found.lanes).toMatchObject({ workers: 1, total: 1 });
  expect(found.problems).toEqual([]);
  const kinds = found.storage.kinds.map(({ kind }) => kind);
  expect(kinds.join()).toBe("bodies,recordings,profiles,database");
  const ids = async (result: string) =>
    (await hub.call("GET", `/jobs?result=${result}`)).body.jobs.map(
      (one: { job_id: string }) => one.job_id,
    );
  expect(await ids("completed")).toEqual([good]);
  expect(await ids("http_error")).toEqual([bad]);
  expect(await ids("failed")).toEqual([failed]);
  expect((await hub.call("GET", "/jobs?result=green")).status).toBe(422);
});
