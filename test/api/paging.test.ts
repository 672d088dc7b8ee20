import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { pageOf } from "#shared/protocol/schema/page.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";

/**
 * Lists are `{<plural>: [...], next_cursor}` with `limit` and `cursor`; a limit above its bound is 422
 * (rules/pipeline-api#lists-and-cursors).
 */

let hub: TestHub;
beforeAll(async () => {
  hub = await startTestHub({ alone: true });
});
afterAll(() => hub.close());

const LISTS: [path: string, items: string, most: number][] = [
  ["/jobs", "jobs", 200],
  ["/watches", "watches", 1_000],
  ["/sessions", "sessions", 1_000],
  ["/workers", "workers", 1_000],
  ["/hosts", "hosts", 1_000],
  ["/profiles", "profiles", 1_000],
  ["/engines", "engines", 1_000],
  ["/presets", "presets", 1_000],
  ["/skills", "skills", 1_000],
  ["/conventions", "conventions", 1_000],
  ["/api/v1/workloads", "workloads", 1_000],
  ["/api/v1/workloads/w1/runs", "runs", 500],
  ["/api/v1/workloads/w1/queue/peek", "rows", 200],
  ["/api/v1/runs", "runs", 1_000],
  ["/api/v1/workers", "workers", 1_000],
  ["/api/v1/workers/elastic/inventory", "instances", 1_000],
  ["/api/v1/agents", "agents", 1_000],
  ["/api/v1/plugins/available", "plugins", 1_000],
  ["/api/v1/settings", "settings", 1_000],
  ["/api/v1/service-logs", "logs", 1_000],
];
const command = { executor_type: "command", executor_config: { argv: ["true"] } };
const addWorkload = (slug: string) =>
  hub.call("POST", "/api/v1/workloads", { slug, ...command, enabled: false });

describe("every list", () => {
  test("has its items under their plural and a next_cursor; a limit above its bound is 422", async () => {
    expect((await addWorkload("w1")).status).toBe(201);
    for (const [path, items, most] of LISTS) {
      const { status, body } = await hub.call("GET", `${path}?limit=${most}`);
      expect([path, status, Array.isArray(body[items])]).toEqual([path, 200, true]);
      expect([path, body.next_cursor]).toEqual([path, null]);
      const over = await hub.call("GET", `${path}?limit=${most + 1}`);
      expect([path, over.status, over.body.detail?.[0]?.loc]).toEqual([
        ...[path, 422],
        ["query", "limit"],
      ]);
    }
  });

  test("is read to its end by its cursor, whatever comes and goes meanwhile", async () => {
    for (const slug of ["w2", "w3", "w5"]) await addWorkload(slug);
    const first = await hub.call("GET", "/api/v1/workloads?limit=2");
    expect(first.body.workloads.map(({ slug }: { slug: string }) => slug)).toEqual(["w1", "w2"]);
    await hub.call("DELETE", "/api/v1/workloads/w2");
    await addWorkload("w4");
    const { next_cursor } = first.body;
    const rest = await hub.call("GET", `/api/v1/workloads?limit=9&cursor=${next_cursor}`);
    expect(rest.body.workloads.map(({ slug }: { slug: string }) => slug)).toEqual([
      ...["w3", "w4", "w5"],
    ]);
    expect(rest.body.next_cursor).toBeNull();
  });

  test("a look into the queue goes on behind the row it ended with, though rows before it are gone", async () => {
    const items = ["a", "b", "c", "d", "e"].map((pk) => ({ pk }));
    await hub.call("POST", "/api/v1/workloads/w3/tasks/batch", { items });
    const path = "/api/v1/workloads/w3/queue/peek?limit=2";
    const first = (await hub.call("GET", path)).body;
    await hub.call("DELETE", "/api/v1/workloads/w3/queue/a");
    const second = (await hub.call("GET", `${path}&cursor=${first.next_cursor}`)).body;
    const last = (await hub.call("GET", `${path}&cursor=${second.next_cursor}`)).body;
    const pks = [first, second, last].map(({ rows }) => rows.map((r: { pk: string }) => r.pk));
    expect(pks).toEqual([["a", "b"], ["c", "d"], ["e"]]);
    expect(last.next_cursor).toBeNull();
  });
});

test("a page of what is held as a whole is in the order of its keys", () => {
  const all = ["b", "d", "a", "c"];
  const page = (limit: number, cursor?: string) => pageOf(all, (key) => key, { limit, cursor });
  expect(page(3)).toEqual({ page: ["a", "b", "c"], next_cursor: "c" });
  expect(page(3, "c")).toEqual({ page: ["d"], next_cursor: null });
  expect(page(4)).toEqual({ page: ["a", "b", "c", "d"], next_cursor: null });
  expect(page(1, "zz")).toEqual({ page: [], next_cursor: null });
});
