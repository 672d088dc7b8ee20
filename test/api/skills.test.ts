import { afterAll, beforeAll, expect, test } from "bun:test";
import { skillsFor } from "#hub/fleet/registries/skills.ts";
import { issueAt, scenarios } from "#test/support/clients/api.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";

let hub: TestHub;
beforeAll(async () => {
  hub = await startTestHub();
});
afterAll(() => hub.close());

const at = () => hub;
const CODE = 'await session.click({ selector: "#accept" });';
const put = (slug: string, more: object = {}) =>
  hub.call("PUT", `/skills/${slug}`, { code: CODE, ...more });
const slugs = (body: { skills: { slug: string }[] }) => body.skills.map(({ slug }) => slug);

scenarios("PUT /skills/{slug} (rules/library#skills)", at, [
  {
    name: "stores it with its defaults",
    path: "/skills/accept",
    send: { code: CODE },
    status: 200,
    body: {
      slug: "accept",
      name: "",
      description: "",
      host_pattern: "*",
      code: CODE,
      tags: [],
      created_by: "operator",
      created_from_job: null,
    },
    after: async (h, { body }) => {
      expect((await h.call("GET", "/skills/accept")).body).toEqual(body);
      expect((await h.call("DELETE", "/skills/accept")).status).toBe(204);
    },
  },
  { name: "code is required", path: "/skills/a", send: {}, status: 400 },
  {
    name: "code is counted in bytes: 200 KB and no more",
    path: "/skills/a",
    send: { code: "é".repeat(102_401) },
    status: 422,
    body: issueAt("body", "code"),
  },
  {
    name: "refuses unknown keys",
    path: "/skills/a",
    send: { code: CODE, host: "a.test" },
    status: 422,
    body: issueAt("body", "host"),
  },
  { name: "refuses what is no slug", path: "/skills/a%20b", send: { code: CODE }, status: 422 },
]);

scenarios("GET and DELETE /skills/{slug} (rules/library#registry-calls)", at, [
  { name: "an unknown one is 404", path: "/skills/none", status: 404 },
  { name: "so is deleting it", method: "DELETE", path: "/skills/none", status: 404 },
]);

test("GET /skills keeps those for a host and those with a tag; the planner gets the closest first (rules/library#skills)", async () => {
  await put("any", { tags: ["consent"] });
  await put("below", { host_pattern: "*.Example.org", tags: ["consent", "login"] });
  await put("exact", { host_pattern: "shop.example.org" });
  await put("other", { host_pattern: "example.net" });
  const list = async (query: string) => slugs((await hub.call("GET", `/skills?${query}`)).body);
  expect(await list("")).toEqual(["any", "below", "exact", "other"]);
  expect(await list("host=Shop.example.ORG")).toEqual(["any", "below", "exact"]);
  expect(await list("host=example.org")).toEqual(["any"]);
  expect(await list("tag=consent")).toEqual(["any", "below"]);
  expect(await list("tag=consent&host=example.net")).toEqual(["any"]);
  expect(await list("tag=none")).toEqual([]);
  const offered = await skillsFor(hub.ctx, "shop.example.org");
  expect(offered.map(({ slug }) => slug)).toEqual(["exact", "below", "any"]);
  expect(offered[0]?.code).toBe(CODE);
});

test("the planner is offered 8 skills at most", async () => {
  for (let i = 0; i < 10; i += 1) await put(`many-${i}`, { host_pattern: "many.test" });
  expect(await skillsFor(hub.ctx, "many.test")).toHaveLength(8);
});
