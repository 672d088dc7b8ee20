import { describe, expect, test } from "bun:test";
import { createWorkloadCache } from "#hub/pipeline/workloads/workload-cache.ts";
import type { WorkloadRow } from "#hub/platform/db/rows.ts";

const row = (slug: string, workload_id: number) => ({ slug, workload_id }) as WorkloadRow;

describe("the workloads a control plane knows (rules/pipeline-workloads#replace-a-workload)", () => {
  test("a list that was read before a workload was created does not make it unknown", async () => {
    const list = Promise.withResolvers<WorkloadRow[]>();
    const cache = createWorkloadCache({
      workloads: { list: () => list.promise, get: async () => null } as never,
    });
    const refreshed = cache.refresh();
    cache.set("new", row("new", 2));
    list.resolve([row("old", 1)]);
    await refreshed;
    expect(cache.bySlug("new")).toEqual(row("new", 2));
    expect(cache.byId(2)?.slug).toBe("new");
  });

  test("one that another control process created is read when it is first named", async () => {
    const stored = row("theirs", 3);
    const cache = createWorkloadCache({
      workloads: { list: async () => [], get: async () => stored } as never,
    });
    await cache.refresh();
    expect(cache.bySlug("theirs")).toBeUndefined();
    expect(await cache.find("theirs")).toEqual(stored);
    expect(cache.byId(3)).toEqual(stored);
  });
});
