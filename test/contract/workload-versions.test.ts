import { describe, expect, test } from "bun:test";
import { Backoff } from "#shared/protocol/schema/workload.ts";
import { eachDialect } from "#test/support/servers/db.ts";

const NOW = Date.UTC(2026, 0, 1);
const ROW = {
  slug: "w",
  name: "w",
  description: "",
  enabled: true,
  supervisor_enabled: false,
  executor_type: "python_module" as const,
  executor_config: {},
  priority: 0,
  batch_size: 1,
  lease_secs: 60,
  max_attempts: 3,
  timeout_s: null,
  host_affinity: [],
  backoff: Backoff.parse({}),
  rate_limit: null,
  max_in_flight: null,
  emits: [],
  schedule: null,
  schedule_tz: "UTC",
  created_at: NOW,
  updated_at: NOW,
};
const code = (text: string) => ({
  executor_type: "python_module" as const,
  code: text,
  sha256: `s-${text}`,
  bytes: 4,
  note: "",
  created_by: "open",
  restored_from: null,
  created_at: NOW,
  plugin_sha256: `p-${text}`,
});

eachDialect((open) => {
  describe("versions of a workload's code", () => {
    test("begin with the workload, and are not made by a slug that is taken", async () => {
      const db = await open();
      const made = await db.workloads.insert(ROW, code("one"));
      expect(made).toMatchObject({ code_version: 1, code_sha256: "p-one" });
      expect(await db.workloads.insert(ROW, code("two"))).toBeNull();
      const id = made?.workload_id ?? 0;
      expect(await db.workload_versions.get(id, 1)).toMatchObject({ code: "one", version: 1 });
      expect(await db.workload_versions.list(id, { before: null, limit: 9 })).toHaveLength(1);
    });

    test("are made by an edit alone that is made, each with a number of its own", async () => {
      const db = await open();
      const id = (await db.workloads.insert(ROW))?.workload_id ?? 0;
      const save = (text: string, versions?: number[]) =>
        db.workloads.updateCode("w", { updated_at: NOW }, code(text), versions);
      expect(await save("stale", [NOW - 1])).toBeNull();
      expect(await db.workload_versions.list(id, { before: null, limit: 9 })).toEqual([]);
      const texts = ["a", "b", "c", "d", "e"];
      const saved = await Promise.all(texts.map((text) => save(text)));
      expect(saved.every((row) => row !== null)).toBe(true);
      const all = await db.workload_versions.list(id, { before: null, limit: 9 });
      expect(all.map(({ version }) => version)).toEqual([5, 4, 3, 2, 1]);
      expect(all.map(({ sha256 }) => sha256).sort()).toEqual(texts.map((text) => `s-${text}`));
      const now = await db.workloads.get("w");
      expect(`p-${(await db.workload_versions.get(id, 5))?.code}`).toBe(`${now?.code_sha256}`);
      expect(await save("late", [NOW])).toBeNull();
      expect(await db.workload_versions.list(id, { before: 4, limit: 2 })).toMatchObject([
        { version: 3 },
        { version: 2 },
      ]);
    });

    test("are deleted up to a number, and with their workload", async () => {
      const db = await open();
      const id = (await db.workloads.insert(ROW, code("one")))?.workload_id ?? 0;
      await db.workloads.updateCode("w", { updated_at: NOW }, code("two"));
      await db.workload_versions.prune(id, 1);
      expect(await db.workload_versions.get(id, 1)).toBeNull();
      expect(await db.workload_versions.get(id, 2)).toMatchObject({ code: "two" });
      await db.workloads.delete(id, false);
      expect(await db.retention.deletedWorkloads()).toEqual([id]);
      await db.retention.purgeRest(id);
      expect(await db.workload_versions.get(id, 2)).toBeNull();
    });
  });
});
