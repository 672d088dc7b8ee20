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

interface List {
  /** With a workload in place of a parameter. */
  path: string;
  items: string;
  most: number;
}

/** These need a recording, a plugin or a command that deploys, and are read in the tests of those. */
const OF_OTHERS = [
  "/jobs/{id}/recording/exports",
  "/sessions/{sid}/recording/exports",
  "/api/v1/plugins/{slug}/state",
  "/api/v1/plugins/{slug}/blob",
  "/api/v1/admin/deploy",
];

interface Described {
  $ref?: string;
  properties?: Record<string, Described>;
  allOf?: Described[];
  type?: string | string[];
  maximum?: number;
}

/** Every list of the API's own description: what a GET answers with a `next_cursor`. */
async function listsOfApi(): Promise<List[]> {
  const { body } = await hub.call("GET", "/openapi.json");
  const found = (one: Described = {}): Described =>
    one.$ref === undefined ? one : body.components.schemas[one.$ref.split("/").at(-1) ?? ""];
  return Object.entries<{ get?: Record<string, never> }>(body.paths).flatMap(([path, { get }]) => {
    const { responses, parameters = [] } = (get ?? {}) as {
      responses?: Record<string, { content?: Record<string, { schema?: Described }> }>;
      parameters?: { name: string; schema: Described }[];
    };
    const answer = found(responses?.["200"]?.content?.["application/json"]?.schema);
    const parts = [answer, ...(answer.allOf ?? [])].map((one) => found(one).properties);
    const properties: Record<string, Described> = Object.assign({}, ...parts);
    if (properties.next_cursor === undefined) return [];
    const names = parameters.map(({ name }) => name);
    expect({ path, names }).toEqual({ path, names: expect.arrayContaining(["limit", "cursor"]) });
    const most = found(parameters.find(({ name }) => name === "limit")?.schema).maximum ?? 0;
    const items = Object.keys(properties).find((name) => found(properties[name]).type === "array");
    if (OF_OTHERS.includes(path) || items === undefined) return [];
    return [{ path: path.replace("{slug}", "w1"), items, most }];
  });
}
const command = { executor_type: "command", executor_config: { argv: ["true"] } };
const addWorkload = (slug: string) =>
  hub.call("POST", "/api/v1/workloads", { slug, ...command, enabled: false });

describe("every list", () => {
  test("has its items under their plural and a next_cursor; a limit above its bound is 422", async () => {
    expect((await addWorkload("w1")).status).toBe(201);
    const lists = await listsOfApi();
    expect(lists.length).toBeGreaterThanOrEqual(25);
    for (const { path, items, most } of lists) {
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
