import { describe, expect, test } from "bun:test";
import type { Db } from "#hub/platform/db/storage.ts";
import { WorkloadCreate } from "#shared/protocol/schema/workload.ts";
import { eachDialect } from "#test/support/servers/db.ts";

const times = (n: number) => Array.from({ length: n }, (_, i) => i);
const report = (version = "1") => ({ gpus: [], children: [], version });
const told = (now: number, agent_id: string | null = "a1") => ({ agent_id, report: report(), now });
const instance = (instance_id: string) => ({ instance_id, args: [], env: {}, generation: 0 });

async function addWorkload(db: Db, supervisor_enabled = true) {
  const input = WorkloadCreate.parse({
    slug: "w",
    executor_type: "command",
    executor_config: { argv: ["true"] },
    supervisor_enabled,
  });
  const row = await db.workloads.insert({ ...input, created_at: 1, updated_at: 1 });
  if (!row) throw new Error("the slug is taken");
  return row;
}

eachDialect((open) => {
  describe("agents (rules/pipeline-agents#host-agents)", () => {
    test("the first report makes the host, with nothing desired; later ones replace the report", async () => {
      const db = await open();
      expect(await db.agents.sync("h1", told(5), null)).toEqual({
        host: "h1",
        agent_id: "a1",
        desired: [],
        revision: 0,
        report: report(),
        last_seen_at: 5,
      });
      await db.agents.sync("h1", { ...told(9), report: report("2") }, null);
      expect(await db.agents.get("h1")).toMatchObject({ report: report("2"), last_seen_at: 9 });
      await db.agents.sync("h0", told(9), null);
      expect((await db.agents.list()).map((a) => a.host)).toEqual(["h0", "h1"]);
      expect(await db.agents.get("h2")).toBeNull();
    });

    test("a second agent is refused while the first is alive, and takes over when it is not", async () => {
      const db = await open();
      const first = await db.agents.sync("h1", told(10), null);
      await db.agents.sync("h1", told(11), null);
      expect(await db.agents.sync("h1", told(20, "a2"), null)).toBeNull();
      expect(await db.agents.sync("h1", told(20, null), null)).toBeNull();
      // It was heard from since somebody found it silent.
      expect(await db.agents.sync("h1", told(20, "a2"), first)).toBeNull();
      const silent = await db.agents.get("h1");
      expect(await db.agents.sync("h1", told(20, "a2"), silent)).toMatchObject({ agent_id: "a2" });
    });

    test("of twenty changes of one revision one is made", async () => {
      const db = await open();
      await db.agents.sync("h1", told(1), null);
      const won = await Promise.all(
        times(20).map((i) => db.agents.setDesired("h1", [instance(`i${i}`)], 0)),
      );
      expect(won.filter((row) => row !== null)).toHaveLength(1);
      const row = await db.agents.get("h1");
      expect([row?.revision, row?.desired.length]).toEqual([1, 1]);
      expect(await db.agents.setDesired("nobody", [], 0)).toBeNull();
    });
  });

  describe("what was not heard of for long", () => {
    test("agents are forgotten when nothing should run there", async () => {
      const db = await open();
      for (const host of ["gone", "wanted", "alive"])
        await db.agents.sync(host, told(host === "alive" ? 50 : 10), null);
      await db.agents.setDesired("wanted", [instance("i1")], 0);
      expect(await db.agents.forget(50)).toEqual(["gone"]);
      expect((await db.agents.list()).map((a) => a.host)).toEqual(["alive", "wanted"]);
    });

    test("a worker's name is its process', until that is replaced, leaves, or is as silent as somebody found it", async () => {
      const db = await open();
      const register = async (
        incarnation: string,
        host: string,
        over: { replaces?: string; dead?: { incarnation: string; last_heartbeat_at: number } } = {},
      ) => {
        const row = {
          worker_id: "w",
          incarnation,
          host,
          version: "1",
          slots: 1,
          labels: {},
          filter: null,
          draining: false,
          in_flight: 0,
          cpu_percent: null,
          mem_percent: null,
          host_cpu_percent: null,
          gpus: [],
          broken: null,
          started_at: 1,
          last_heartbeat_at: 100,
        };
        const { replaces = null, dead = null } = over;
        return (await db.pull_workers.register(row, { replaces, dead }))?.incarnation ?? null;
      };
      expect(await register("first", "a")).toBe("first");
      expect(await register("second", "a")).toBeNull();
      expect(await register("first", "a")).toBe("first");
      const dead = { incarnation: "first", last_heartbeat_at: 100 };
      await db.pull_workers.beat("w", "first", { last_heartbeat_at: 101 });
      expect(await register("second", "a", { dead })).toBeNull();
      expect(await register("second", "a", { dead: { ...dead, last_heartbeat_at: 101 } })).toBe(
        "second",
      );
      expect(await register("third", "b", { dead })).toBeNull();
      expect(await register("third", "b", { replaces: "first" })).toBeNull();
      expect(await register("third", "b", { replaces: "second" })).toBe("third");
      expect(await db.pull_workers.leave("w", "second")).toBe(false);
      expect(await db.pull_workers.leave("w", "third")).toBe(true);
      expect(await register("fourth", "c")).toBe("fourth");
    });

    test("workers are forgotten, those with a filter later", async () => {
      const db = await open();
      const add = async (worker_id: string, last_heartbeat_at: number, filter: string[] | null) =>
        db.pull_workers.register(
          {
            worker_id,
            incarnation: "i",
            host: "h",
            version: "1",
            slots: 1,
            labels: {},
            filter,
            draining: true,
            in_flight: 0,
            cpu_percent: null,
            mem_percent: null,
            host_cpu_percent: null,
            gpus: [],
            broken: null,
            started_at: 1,
            last_heartbeat_at,
          },
          { replaces: null, dead: null },
        );
      await add("plain-old", 10, null);
      await add("filtered-old", 10, ["a"]);
      await add("filtered-older", 1, []);
      await add("alive", 50, null);
      const before = { plain_before: 50, filtered_before: 5 };
      expect((await db.pull_workers.forget(before)).sort()).toEqual([
        "filtered-older",
        "plain-old",
      ]);
      expect(await db.pull_workers.list()).toHaveLength(2);
    });
  });

  describe("restarts of workers (rules/pipeline-agents#restart-a-worker-over-ssh)", () => {
    const begin = (db: Db, now: number, limit: number | null = 2, idle_since?: number) =>
      db.worker_restarts.begin("w1", {
        now,
        busy_until: now + 100,
        limit,
        idle_since: idle_since ?? null,
      });

    test("of twenty at once one begins; the next one after it ended, or its time is over", async () => {
      const db = await open();
      const won = await Promise.all(times(20).map(() => begin(db, 1_000, null)));
      expect(won.filter((row) => row !== null)).toHaveLength(1);
      await db.worker_restarts.end("w1", 1_100, { exit_code: 255, error: "refused" });
      expect(await db.worker_restarts.get("w1")).toMatchObject({
        exit_code: 255,
        error: "refused",
        busy_until: null,
        used: 1,
      });
      expect(await begin(db, 1_200, null)).toMatchObject({ used: 2, exit_code: null });
      expect(await begin(db, 1_299, null)).toBeNull();
      expect(await begin(db, 1_300, null)).toMatchObject({ used: 3 });
    });

    test("a limit counts within an hour", async () => {
      const db = await open();
      expect(await begin(db, 1_000)).toMatchObject({ used: 1 });
      expect(await begin(db, 2_000)).toMatchObject({ used: 2 });
      expect(await begin(db, 3_000)).toBeNull();
      expect(await begin(db, 1_000 + 3_600_000)).toMatchObject({ used: 1 });
      expect(await db.worker_restarts.get("w2")).toBeNull();
    });

    test("one may be asked for only some time after the last one was begun", async () => {
      const db = await open();
      expect(await begin(db, 1_000, null, 0)).not.toBeNull();
      expect(await begin(db, 5_000, null, 999)).toBeNull();
      expect(await begin(db, 5_000, null, 1_000)).not.toBeNull();
    });
  });

  describe("what the supervisor remembers", () => {
    test("of twenty changes of one row one is made", async () => {
      const db = await open();
      const { workload_id } = await addWorkload(db);
      const row = await db.supervised.open(workload_id);
      expect(row).toMatchObject({ seq: 0, paused_at: null, reset: true, told: false });
      const won = await Promise.all(
        times(20).map(() => db.supervised.change(row, { problem: "stuck", problem_at: 5 })),
      );
      expect(won.filter((r) => r !== null)).toHaveLength(1);
      expect(await db.supervised.get(workload_id)).toMatchObject({ seq: 1, problem: "stuck" });
    });

    test("of twenty pauses one switches the workload off", async () => {
      const db = await open();
      const { workload_id } = await addWorkload(db);
      const row = await db.supervised.open(workload_id);
      const won = await Promise.all(
        times(20).map(() => db.supervised.pause(row, { action: "pause", last_run_id: 7 }, 50)),
      );
      expect(won.filter(Boolean)).toHaveLength(1);
      expect(await db.workloads.get("w")).toMatchObject({ enabled: false, updated_at: 50 });
      expect(await db.supervised.get(workload_id)).toMatchObject({ paused_at: 50, last_run_id: 7 });
    });

    test("nothing is written once the workload is not supervised, or off", async () => {
      const db = await open();
      const { workload_id } = await addWorkload(db, false);
      const row = await db.supervised.open(workload_id);
      expect(await db.supervised.change(row, { told: true })).toBeNull();
      expect(await db.supervised.pause(row, {}, 50)).toBe(false);
      await db.workloads.update("w", { supervisor_enabled: true, enabled: false });
      expect(await db.supervised.pause(row, {}, 50)).toBe(false);
      expect(await db.supervised.get(workload_id)).toEqual(row);
      expect(await db.workloads.get("w")).toMatchObject({ updated_at: 1 });
    });

    test("is gone with the workload", async () => {
      const db = await open();
      const { workload_id } = await addWorkload(db);
      await db.supervised.open(workload_id);
      await db.workloads.delete(workload_id, false);
      await db.retention.purgeRest(workload_id);
      expect(await db.supervised.get(workload_id)).toBeNull();
      expect(await db.supervised.outcomes(workload_id, 0, 20)).toEqual([]);
    });
  });
});
