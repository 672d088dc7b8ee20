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

  describe("state that a plugin keeps for one workload alone (rules/pipeline-crawl#what-a-crawl-keeps)", () => {
    const OWN = { plugin: "crawl", workload: "w" };
    const KEPT = ["crawl w_/begun", "crawl ww/begun", "other w/begun"];
    const put = async ({ plugins }: Awaited<ReturnType<typeof open>>, name: string) => {
      const [slug = "", key = ""] = name.split(" ");
      await plugins.putState({ slug, key, value: 1, updated_at: NOW });
    };
    const left = async ({ plugins }: Awaited<ReturnType<typeof open>>) => {
      const page = { prefix: "", after: null, limit: 9 };
      const slugs = ["crawl", "other"];
      const lists = await Promise.all(slugs.map((slug) => plugins.listState(slug, page)));
      return lists.flatMap((list, i) => list.map(({ key }) => `${slugs[i]} ${key}`));
    };

    test("is deleted in the transaction that deletes the workload, and no other state is", async () => {
      const db = await open();
      const id = (await db.workloads.insert(ROW))?.workload_id ?? 0;
      for (const name of [...KEPT, "crawl w/begun", "crawl w/visits/site"]) await put(db, name);
      expect(await db.workloads.delete(id, false, OWN)).toBe(true);
      expect(await left(db)).toEqual(KEPT);
    });

    test("stays while there is a workload of that name, whoever deletes an earlier one", async () => {
      const db = await open();
      const id = (await db.workloads.insert(ROW))?.workload_id ?? 0;
      await put(db, "crawl w/begun");
      expect(await db.workloads.delete(id + 1, true, OWN)).toBe(false);
      expect(await db.workloads.insert(ROW, undefined, OWN)).toBeNull();
      expect(await left(db)).toEqual(["crawl w/begun"]);
    });

    test("is not there when a workload begins, although one of its name left it behind", async () => {
      const db = await open();
      for (const name of [...KEPT, "crawl w/begun"]) await put(db, name);
      expect(await db.workloads.insert(ROW, undefined, OWN)).toMatchObject({ slug: "w" });
      expect(await left(db)).toEqual(KEPT);
    });
  });
});
