import { afterAll, beforeAll, expect, test } from "bun:test";
import { enabledConventions } from "#hub/fleet/registries/conventions.ts";
import { issueAt, scenarios } from "#test/support/clients/api.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";

let hub: TestHub;
beforeAll(async () => {
  hub = await startTestHub();
});
afterAll(() => hub.close());

const at = () => hub;
const RULE = { title: "Prices", text: "Numbers without a currency sign." };

scenarios("PUT /conventions/{slug} (rules/library#conventions)", at, [
  {
    name: "stores it, enabled unless it says otherwise",
    path: "/conventions/prices",
    send: RULE,
    status: 200,
    body: { slug: "prices", ...RULE, enabled: true },
    after: async (h, { body }) => {
      expect((await h.call("GET", "/conventions/prices")).body).toEqual(body);
      expect((await h.call("GET", "/conventions")).body).toEqual({
        conventions: [body],
        next_cursor: null,
      });
    },
  },
  { name: "text is required", path: "/conventions/a", send: { title: "T" }, status: 400 },
  {
    name: "refuses a text of nothing",
    path: "/conventions/a",
    send: { text: "" },
    status: 422,
    body: issueAt("body", "text"),
  },
  {
    name: "refuses unknown keys and another slug",
    path: "/conventions/a",
    send: { ...RULE, slug: "b" },
    status: 422,
    body: issueAt("body", "slug"),
  },
]);

scenarios("GET and DELETE /conventions/{slug} (rules/library#registry-calls)", at, [
  { name: "an unknown one is 404", path: "/conventions/none", status: 404 },
  {
    name: "deletes one; the second time it is 404",
    method: "DELETE",
    path: "/conventions/gone",
    before: (h) => h.call("PUT", "/conventions/gone", RULE),
    status: 204,
    after: async (h) => expect((await h.call("DELETE", "/conventions/gone")).status).toBe(404),
  },
]);

test("the planner is given the enabled ones alone", async () => {
  await hub.call("PUT", "/conventions/off", { ...RULE, enabled: false });
  await hub.call("PUT", "/conventions/on", RULE);
  const given = (await enabledConventions(hub.ctx)).map(({ slug }) => slug);
  expect(given).toContain("on");
  expect(given).not.toContain("off");
});
