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
  executor_type: "command" as const,
  executor_config: { argv: ["true"] },
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

eachDialect((open) => {
  describe("the version of a workload's settings", () => {
    test("rises with every edit, also in one millisecond and when the clock went back", async () => {
      const db = await open();
      await db.workloads.insert(ROW);
      const edit = async (updated_at: number) =>
        (await db.workloads.update("w", { priority: 1, updated_at }))?.updated_at;
      expect(await edit(NOW)).toBe(NOW + 1);
      expect(await edit(NOW + 1)).toBe(NOW + 2);
      expect(await edit(NOW - 60_000)).toBe(NOW + 3);
      expect(await edit(NOW + 60_000)).toBe(NOW + 60_000);
    });

    test("decides, in the one statement of the edit, whether it is made", async () => {
      const db = await open();
      await db.workloads.insert(ROW);
      const over = (versions: number[], priority: number) =>
        db.workloads.update("w", { priority, updated_at: NOW }, versions);
      expect(await over([NOW - 1], 1)).toBeNull();
      expect(await over([], 1)).toBeNull();
      const done = await Promise.all([1, 2, 3, 4].map((priority) => over([NOW, 7], priority)));
      expect(done.filter((row) => row !== null)).toHaveLength(1);
      expect(await db.workloads.get("w")).toMatchObject({ updated_at: NOW + 1 });
    });
  });
});
