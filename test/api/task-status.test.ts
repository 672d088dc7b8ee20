import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { MAX_BATCH_ITEMS } from "#shared/protocol/limits.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";
import { startPostgres, type TestPostgres } from "#test/support/servers/postgres.ts";

/** POST …/tasks/status: where many tasks stand, asked for by their keys, on both databases. */
for (const dialect of ["SQLite", "Postgres"] as const)
  describe(`on ${dialect}`, () => {
    let hub: TestHub;
    let pg: TestPostgres | undefined;
    beforeAll(async () => {
      pg = dialect === "Postgres" ? await startPostgres() : undefined;
      const env = pg ? { SVC_DB_URL: await pg.createDatabase() } : {};
      hub = await startTestHub({ alone: true, env });
    }, 180_000);
    afterAll(async () => {
      await hub?.close();
      await pg?.stop();
    });

    const api = (method: string, path: string, body?: unknown) =>
      hub.call(method, `/api/v1${path}`, body);
    const status = (slug: string, pks: unknown) =>
      api("POST", `/workloads/${slug}/tasks/status`, { pks });
    async function addWorkload(slug: string): Promise<string> {
      const body = { slug, executor_type: "command", executor_config: { argv: ["true"] } };
      expect((await api("POST", "/workloads", body)).status).toBe(201);
      return slug;
    }
    const submit = async (slug: string, items: object[]) =>
      expect((await api("POST", `/workloads/${slug}/tasks/batch`, { items })).status).toBe(201);

    test("tells pending, claimed, failed and absent ones of this workload, and of no other", async () => {
      const slug = await addWorkload("states");
      const other = await addWorkload("other");
      const later = new Date(Date.now() + 3_600_000).toISOString();
      await submit(slug, [
        ...["ready", "ü/%_'\"\\", "unasked"].map((pk) => ({ pk })),
        { pk: "delayed", run_at: later },
        ...["claimed", "broken", "done"].map((pk) => ({ pk, priority: 9 })),
      ]);
      await submit(other, [{ pk: "theirs" }]);
      const { pipeline } = hub.ctx;
      const { workload_id, backoff } = await pipeline.workloads.require(slug);
      const { tasks } = await pipeline.turns.call({
        op: "claim",
        worker: "w",
        worker_id: "w1",
        workload_id,
        max: 3,
        lease_ms: 60_000,
        timeout_ms: null,
        max_in_flight: null,
        rate_limit: null,
      });
      const told = { duration_ms: 1, stdout: "", stderr: "", truncated: false };
      const of = (name: string) => tasks.filter(({ pk }) => pk === name);
      await pipeline.turns.call({
        op: "complete",
        worker: "w",
        items: of("done").map((task) => ({ ...task, ...told, output: null })),
      });
      await pipeline.turns.call({
        op: "fail",
        worker: "w",
        workload_id,
        backoff,
        items: of("broken").map((task) => ({
          ...task,
          ...told,
          outcome: "error" as const,
          error: "it broke",
          retry_after_ms: null,
          no_retry: true,
        })),
      });
      const asked = [
        "ready",
        "ü/%_'\"\\",
        "delayed",
        "claimed",
        "broken",
        "done",
        "theirs",
        "none",
      ];
      const answer = await status(slug, [...asked, "ready"]);
      expect(answer.status).toBe(200);
      const { items, ...counts } = answer.body;
      expect(counts).toEqual({ pending: 3, claimed: 1, failed: 1, absent: 3 });
      expect(Object.fromEntries(items.map(({ pk, state }: never) => [pk, state]))).toEqual({
        ready: "pending",
        "ü/%_'\"\\": "pending",
        delayed: "pending",
        claimed: "claimed",
        broken: "failed",
      });
      expect((await status(slug, [])).body).toEqual({
        pending: 0,
        claimed: 0,
        failed: 0,
        absent: 0,
        items: [],
      });
    });

    test("takes as many keys as a batch of tasks, and refuses more, what is no key, and an unknown workload", async () => {
      const slug = await addWorkload("many");
      const pks = Array.from({ length: MAX_BATCH_ITEMS }, (_, i) => `key ${i}`);
      await submit(
        slug,
        pks.slice(5).map((pk) => ({ pk })),
      );
      const { body } = await status(slug, pks);
      expect({ ...body, items: body.items.length }).toEqual({
        pending: pks.length - 5,
        claimed: 0,
        failed: 0,
        absent: 5,
        items: pks.length - 5,
      });
      expect((await status(slug, [...pks, "one more"])).status).toBe(422);
      expect((await status(slug, ["a", ""])).body.detail).toMatchObject([
        { loc: ["body", "pks", 1] },
      ]);
      expect((await status("nowhere", ["a"])).status).toBe(404);
      expect((await api("POST", `/workloads/${slug}/tasks/status`, {})).status).toBe(400);
    });
  });
