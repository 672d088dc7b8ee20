import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";

let hub: TestHub;
beforeAll(async () => {
  hub = await startTestHub();
});
afterAll(() => hub.close());

const at = (page: string, name: string) =>
  `/api/v1/saved-lists/${page}/${encodeURIComponent(name)}`;
const put = (page: string, name: string, filters: unknown) =>
  hub.call("PUT", at(page, name), { filters });
const names = async (query = ""): Promise<string[]> => {
  const { body } = await hub.call("GET", `/api/v1/saved-lists${query}`);
  const { saved_lists } = body as { saved_lists: { page: string; name: string }[] };
  return saved_lists.map(({ page, name }) => `${page} ${name}`);
};

describe("saved lists (rules/saved-lists#calls)", () => {
  test("one is saved, listed by page and name, replaced and forgotten", async () => {
    const made = await put("jobs", "Failed / today", { status: "failed", label: "team:growth" });
    expect(made).toMatchObject({
      status: 200,
      body: {
        page: "jobs",
        name: "Failed / today",
        saved_by: "open",
        filters: { status: "failed" },
      },
    });
    await put("runs", "Errors", { outcome: "error" });
    await put("jobs", "All shops", { words: "shop" });
    expect(await names()).toEqual(["jobs All shops", "jobs Failed / today", "runs Errors"]);
    expect(await names("?page=runs")).toEqual(["runs Errors"]);
    const again = await put("jobs", "Failed / today", { status: "cancelled" });
    const { created_at } = made.body as { created_at: string };
    expect(again.body).toMatchObject({ created_at, filters: { status: "cancelled" } });
    expect((await hub.call("DELETE", at("jobs", "Failed / today"))).status).toBe(204);
    expect((await hub.call("DELETE", at("jobs", "Failed / today"))).status).toBe(404);
    expect(await names("?page=jobs")).toEqual(["jobs All shops"]);
  });

  test.each([
    ["an unknown page", "nope", "a", {}],
    ["a name of blanks", "jobs", "  ", {}],
    ["a name of 61 characters", "jobs", "n".repeat(61), {}],
    ["a name with a line break", "jobs", "a\nb", {}],
    ["25 filters", "jobs", "a", Object.fromEntries(Array.from({ length: 25 }, (_, i) => [i, ""]))],
    ["a filter that is no text", "jobs", "a", { status: ["failed"] }],
    ["a filter of 501 characters", "jobs", "a", { q: "x".repeat(501) }],
  ])("422 for %s (rules/saved-lists#what-a-saved-list-is)", async (_, page, name, filters) => {
    expect((await put(page, name, filters)).status).toBe(422);
  });

  test("a hub keeps 500 (rules/saved-lists#what-a-saved-list-is)", async () => {
    const now = Date.now();
    const { saved_lists } = hub.ctx.db;
    for (let i = await saved_lists.count(); i < 500; i += 1)
      await saved_lists.put({
        page: "hosts",
        name: `n${i}`,
        filters: {},
        saved_by: "open",
        created_at: now,
        updated_at: now,
      });
    expect((await put("jobs", "one more", {})).status).toBe(409);
    expect((await put("hosts", "n400", { q: "x" })).status).toBe(200);
  });
});
