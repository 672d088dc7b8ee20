import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { LASTED_MS } from "#hub/pipeline/supervisor/decide.ts";
import { superviseOnce } from "#hub/pipeline/supervisor/supervise.ts";
import type { ProgramContext } from "#hub/program/context.ts";
import type { Claimed } from "#shared/protocol/schema/pull.ts";
import { Supervision } from "#shared/protocol/schema/supervisor.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import { stillClock } from "#test/support/fakes/still-clock.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";
import { startPostgres } from "#test/support/servers/postgres.ts";

/** Real processes and databases, on machines that do other things as well. */
setDefaultTimeout(180_000);

/** Passes are made by hand, in a time of their own; the hub's own loop does not go round. */
interface Rig {
  hub: TestHub;
  api: TestHub["call"];
  /** `n` passes at once, as of as many control processes, `ms` later. */
  pass(ms?: number, n?: number): Promise<void>;
  supervision(slug: string): Promise<Supervision>;
  interventions(): string[];
  /** Runs one task of the workload for each outcome, the newest last. */
  run(slug: string, ...success: boolean[]): Promise<void>;
}

async function withRig(
  env: Record<string, string>,
  use: (rig: Rig) => Promise<void>,
): Promise<void> {
  const hub = await startTestHub({ env, clock: stillClock });
  const api: Rig["api"] = async (method, path, body) => {
    const answer = await hub.call(method, `/api/v1${path}`, body);
    if (answer.status >= 500) throw new Error(`${method} ${path}: ${answer.text}`);
    return answer;
  };
  const clock = createFakeClock(Date.now());
  const ctx: ProgramContext = { ...hub.ctx, clock };
  let tasks = 0;
  const incarnation = "incarnation-1";
  const rig: Rig = {
    hub,
    api,
    pass: async (ms = 0, n = 1) => {
      await clock.advance(ms);
      await Promise.all(Array.from({ length: n }, () => superviseOnce(ctx)));
    },
    supervision: async (slug) =>
      Supervision.parse((await api("GET", `/workloads/${slug}/supervisor`)).body),
    interventions: () =>
      hub.log.filter((l) => l.message === "supervisor intervened").map((l) => String(l.action)),
    run: async (slug, ...success) => {
      const hello = { incarnation, host: "h1", slots: 4, version: "1" };
      await api("POST", "/workers/p1/register", hello);
      await api("POST", "/workers/p1/filter", { op: "replace", workloads: [slug] });
      for (let at = 0; at < success.length; ) {
        const ok = success[at] as boolean;
        const same = success.findIndex((other, i) => i > at && other !== ok);
        const n = (same < 0 ? success.length : same) - at;
        at += n;
        const items = Array.from({ length: n }, () => ({ pk: `t${++tasks}` }));
        await api("POST", `/workloads/${slug}/tasks/batch`, { items });
        const { body } = await api("POST", "/workers/p1/claim", {
          incarnation,
          slots: n,
          wait_ms: 10_000,
        });
        expect(body.batches.length).toBe(n);
        const claimed = (body as Claimed).batches.flatMap((batch) => batch.tasks);
        const told = claimed.map(({ task_id, epoch }) => ({ task_id, epoch, duration_ms: 1 }));
        const why = { workload: slug, error: "no such table", no_retry: true };
        await api("POST", `/workers/p1/${ok ? "complete" : "fail"}`, {
          incarnation,
          items: ok ? told : told.map((item) => ({ ...item, ...why })),
        });
      }
    },
  };
  try {
    await use(rig);
  } finally {
    await hub.close();
  }
}

const addWorkload = async ({ api }: Rig, slug: string, supervisor_enabled = true) => {
  const command = { executor_type: "command", executor_config: { argv: ["true"] } };
  const { status } = await api("POST", "/workloads", { slug, ...command, supervisor_enabled });
  expect(status).toBe(201);
};
const fails = (n: number) => Array<boolean>(n).fill(false);
const enabled = async ({ api }: Rig, slug: string) =>
  (await api("GET", `/workloads/${slug}`)).body.enabled;
const counts = async ({ api }: Rig, slug: string) =>
  (await api("GET", `/workloads/${slug}/queue`)).body;

/** Pause, resume, recovery: once each, whoever else looks at the same time. */
async function pauseAndRecover(rig: Rig): Promise<void> {
  await addWorkload(rig, "bad");
  await addWorkload(rig, "left-alone", false);
  for (const slug of ["left-alone", "bad"]) await rig.run(slug, true, ...fails(19));
  await rig.pass(0, 5);
  expect(rig.interventions()).toEqual([]);
  for (const slug of ["left-alone", "bad"]) await rig.run(slug, false);
  await rig.pass(0, 5);
  expect(rig.interventions()).toEqual(["pause"]);
  expect(await enabled(rig, "bad")).toBe(false);
  expect(await enabled(rig, "left-alone")).toBe(true);
  const paused = await rig.supervision("bad");
  expect(paused).toMatchObject({ action: "pause", paused_at: expect.any(String), problem: null });
  expect(paused.reason).toContain("the last 20 runs failed; the last one: no such table");

  await rig.pass(60_000, 5);
  await rig.api("PATCH", "/workloads/bad/enabled", { enabled: true });
  await rig.pass(10_000, 5);
  expect([await enabled(rig, "bad"), (await rig.supervision("bad")).paused_at]).toEqual([
    true,
    null,
  ]);
  expect(await counts(rig, "bad")).toMatchObject({ failed: 20, pending: 0 });
  await rig.run("bad", false, true);
  await rig.pass(10_000, 5);
  expect(rig.interventions()).toEqual(["pause", "reset"]);
  expect(await counts(rig, "bad")).toMatchObject({ failed: 0, pending: 21 });
  await rig.pass(10_000, 5);
  expect(rig.interventions()).toEqual(["pause", "reset"]);
  expect(await counts(rig, "left-alone")).toMatchObject({ failed: 20 });
}

describe("the supervisor (rules/pipeline-supervision#permission)", () => {
  test("pauses after twenty failures, and after a recovery resets what failed, once", () =>
    withRig({}, pauseAndRecover));

  test("on Postgres too", async () => {
    const server = await startPostgres();
    try {
      await withRig({ SVC_DB_URL: await server.createDatabase() }, pauseAndRecover);
    } finally {
      await server.stop();
    }
  }, 180_000);

  test("a pass whose list of workloads is older than a pause does not take it for undone", () =>
    withRig({}, async (rig) => {
      await addWorkload(rig, "bad");
      await rig.run("bad", true, ...fails(20));
      const { workloads } = rig.hub.ctx.db;
      const before_the_pause = await workloads.list();
      await rig.pass();
      const late = {
        ...rig.hub.ctx.db,
        workloads: { ...workloads, list: async () => before_the_pause },
      };
      await superviseOnce({ ...rig.hub.ctx, db: late });
      expect(await rig.supervision("bad")).toMatchObject({
        action: "pause",
        paused_at: expect.any(String),
      });
    }));

  test("tells of ready tasks that nobody may run, and restarts instances that were given up", () =>
    withRig({}, async (rig) => {
      await addWorkload(rig, "waits");
      await rig.api("POST", "/workloads/waits/tasks", { pk: "a" });
      await rig.pass(0, 3);
      expect(await rig.supervision("waits")).toMatchObject({ problem: "no_worker", action: null });
      await rig.pass(LASTED_MS.no_worker, 3);
      expect(rig.interventions()).toEqual(["report"]);
      expect((await rig.supervision("waits")).reason).toBe(
        "1 tasks are ready, but no live worker may run them",
      );
      const { agents } = rig.hub.ctx.db;
      const child = { instance_id: "dead", pid: null, state: "exited" as const };
      const told = { ...child, started_at: null, exit_code: 2, restarts: 0 };
      const report = { gpus: [], version: "1", children: [told] };
      const now = Date.now() + LASTED_MS.no_worker + 900_000;
      await agents.sync("h1", { agent_id: null, report, now }, null);
      const desired = ["dead", "alive"].map((instance_id) => ({
        instance_id,
        args: [],
        env: {},
        generation: 0,
      }));
      await agents.setDesired("h1", desired, 0);
      await rig.pass(900_000, 3);
      expect(rig.interventions()).toEqual(["report", "restart"]);
      const row = await agents.get("h1");
      expect(row?.desired.map((d) => [d.instance_id, d.generation])).toEqual([
        ["dead", 1],
        ["alive", 0],
      ]);
      expect(await enabled(rig, "waits")).toBe(true);
    }));

  test("an unknown workload is 404; one it never had to do with is all null", () =>
    withRig({}, async (rig) => {
      expect((await rig.api("GET", "/workloads/none/supervisor")).status).toBe(404);
      await addWorkload(rig, "new");
      await rig.pass();
      expect(await rig.supervision("new")).toEqual({
        workload: "new",
        supervisor_enabled: true,
        paused_at: null,
        problem: null,
        problem_since: null,
        action: null,
        reason: null,
        action_at: null,
      });
    }));
});
