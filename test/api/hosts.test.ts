import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { issueAt, scenarios } from "#test/support/clients/api.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";

let hub: TestHub;
beforeAll(async () => {
  hub = await startTestHub();
});
afterAll(() => hub.close());

const at = () => hub;
const recipe = { actions: [{ kind: "click", selector: "#more" }] };
const cookie = (name: string, more = {}) => ({
  name,
  value: `v-${name}`,
  domain: "c.test",
  ...more,
});
const MASKED = "***";

scenarios("GET /hosts (rules/hosts#read-hosts)", at, [
  { name: "lists all hosts", status: 200, body: { hosts: [] } },
  { name: "has no other methods", method: "POST", status: 405 },
]);

scenarios("GET /hosts/{host} (rules/hosts#read-hosts)", at, [
  {
    name: "gives recipes and settings, whatever the case of the name",
    path: "/hosts/Read.TEST",
    before: (h) => h.call("POST", "/hosts/read.test/recipes", recipe),
    status: 200,
    body: {
      host: "read.test",
      recipes: [
        {
          pattern: "*",
          description: "",
          ...recipe,
          goal: null,
          code: null,
          timeout_s: 30,
          created_by: "operator",
          created_from_job: null,
        },
      ],
      login_recipe: null,
      popup_policy: "allow",
      record: null,
      notes: "",
      cookies: [],
    },
  },
  {
    name: "an unknown host is 404",
    path: "/hosts/nobody.test",
    status: 404,
    body: { detail: "host not found" },
  },
  { name: "what is no host name is 404", path: "/hosts/a%2Fb", status: 404 },
]);

scenarios("PUT /hosts/{host} (rules/hosts#replace-a-host)", at, [
  {
    name: "replaces all recipes and settings",
    path: "/hosts/put.test",
    before: (h) => h.call("POST", "/hosts/put.test/recipes", recipe),
    send: { recipes: [{ pattern: "/x" }], popup_policy: "same_tab", record: "off", notes: "n" },
    status: 200,
    body: {
      recipes: [{ pattern: "/x" }],
      popup_policy: "same_tab",
      record: "off",
      notes: "n",
      login_recipe: null,
    },
  },
  {
    name: "keeps the cookies when they are not given, and masks them",
    path: "/hosts/c.test",
    before: (h) => h.call("PUT", "/hosts/c.test/cookies", { cookies: [cookie("sid")] }),
    send: {},
    status: 200,
    body: { cookies: [{ name: "sid", value: MASKED, domain: "c.test", path: "/", expires: -1 }] },
  },
  {
    name: "takes back a record as it was read, without losing a cookie",
    path: "/hosts/c.test",
    send: { host: "c.test", cookies: [cookie("sid", { value: MASKED })], updated_at: "x" },
    status: 200,
    after: async (h) => {
      const [row] = await h.ctx.db.hosts.find(["c.test"]);
      expect(row?.cookies[0]).toMatchObject({ name: "sid", value: "v-sid" });
    },
  },
  {
    name: "a host that is not the path's is 422",
    path: "/hosts/a.test",
    send: { host: "b.test" },
    status: 422,
    body: issueAt("body", "host"),
  },
  {
    name: "a bad host name is 422",
    path: "/hosts/a%20b",
    send: {},
    status: 422,
    body: issueAt("path", "host"),
  },
  {
    name: "an unknown key is 422",
    path: "/hosts/a.test",
    send: { recipe: [] },
    status: 422,
    body: issueAt("body", "recipe"),
  },
  {
    name: "an unknown popup policy is 422",
    path: "/hosts/a.test",
    send: { popup_policy: "maybe" },
    status: 422,
    body: issueAt("body", "popup_policy"),
  },
  {
    name: "an action of no known kind is 422 and named",
    path: "/hosts/a.test",
    send: { recipes: [{ actions: [{ kind: "explode" }] }] },
    status: 422,
    body: issueAt("body", "recipes", 0, "actions", 0, "kind"),
  },
  {
    name: "a recipe of more than 256 KiB is 422",
    path: "/hosts/a.test",
    send: {
      recipes: [{ actions: [1, 2].map(() => ({ kind: "evaluate", code: "x".repeat(150_000) })) }],
    },
    status: 422,
    body: issueAt("body", "recipes", 0),
  },
  {
    name: "10 MB of recipes are 413",
    path: "/hosts/a.test",
    send: { recipes: Array.from({ length: 50 }, () => ({ code: "x".repeat(200_000) })) },
    status: 413,
  },
  {
    name: "501 recipes are 422",
    path: "/hosts/a.test",
    send: { recipes: Array.from({ length: 501 }, () => ({})) },
    status: 422,
    body: issueAt("body", "recipes"),
  },
]);

scenarios("POST /hosts/{host}/recipes (rules/hosts#append-and-remove-recipes)", at, [
  {
    name: "appends to a host that is made by it",
    path: "/hosts/new.test/recipes",
    send: recipe,
    status: 201,
    body: { host: "new.test", recipes: [recipe] },
  },
  {
    name: "appends behind what is there",
    path: "/hosts/NEW.test/recipes",
    send: { pattern: "/b" },
    status: 201,
    body: { recipes: [{ pattern: "*" }, { pattern: "/b" }] },
  },
  {
    name: "a host called cookies is a host",
    path: "/hosts/cookies/recipes",
    send: recipe,
    status: 201,
    body: { host: "cookies" },
  },
  {
    name: "IDN is kept in punycode",
    path: "/hosts/b%C3%BCcher.test/recipes",
    send: recipe,
    status: 201,
    body: { host: "xn--bcher-kva.test" },
  },
  {
    name: "a navigation to a file is 422",
    path: "/hosts/a.test/recipes",
    send: { actions: [{ kind: "navigate", url: "file:///etc/passwd" }] },
    status: 422,
    body: issueAt("body", "actions", 0, "url"),
  },
  {
    name: "an endless wait is 422",
    path: "/hosts/a.test/recipes",
    send: { actions: [{ kind: "wait", selector: "#x", timeout_s: 1e9 }] },
    status: 422,
    body: issueAt("body", "actions", 0, "timeout_s"),
  },
  {
    name: "no JSON is 400",
    path: "/hosts/a.test/recipes",
    headers: { "content-type": "application/json" },
    send: undefined,
    status: 400,
  },
]);

test("POST /hosts/{host}/recipes: 30 callers at once lose nothing, and a host has an end (rules/hosts#append-and-remove-recipes)", async () => {
  const post = (i: number) => hub.call("POST", "/hosts/many.test/recipes", { pattern: `/${i}` });
  const answers = await Promise.all(Array.from({ length: 30 }, (_, i) => post(i)));
  expect(answers.map((a) => a.status)).toEqual(Array(30).fill(201));
  const { body } = await hub.call("GET", "/hosts/many.test");
  expect(body.recipes).toHaveLength(30);
  const big = { code: "x".repeat(199_000), goal: "y".repeat(19_000) };
  const statuses = new Set<number>();
  for (let i = 0; i < 12; i += 1)
    statuses.add((await hub.call("POST", "/hosts/many.test/recipes", big)).status);
  expect([...statuses]).toEqual([201, 409]);
});

scenarios("DELETE /hosts/{host}/recipes/{index} (rules/hosts#append-and-remove-recipes)", at, [
  {
    name: "removes one",
    method: "DELETE",
    path: "/hosts/del.test/recipes/0",
    before: async (h) => {
      await h.call("POST", "/hosts/del.test/recipes", { pattern: "/0" });
      await h.call("POST", "/hosts/del.test/recipes", { pattern: "/1" });
    },
    status: 200,
    body: { recipes: [{ pattern: "/1" }] },
  },
  {
    name: "one that is not there is 404",
    method: "DELETE",
    path: "/hosts/del.test/recipes/1",
    status: 404,
    body: { detail: "recipe not found" },
  },
  {
    name: "what is no index is 404",
    method: "DELETE",
    path: "/hosts/del.test/recipes/-1",
    status: 404,
  },
  {
    name: "DELETE /hosts/{host} forgets the host",
    method: "DELETE",
    path: "/hosts/del.test",
    status: 204,
  },
  { name: "forgetting it twice is 404", method: "DELETE", path: "/hosts/del.test", status: 404 },
]);

scenarios("PUT /hosts/{host}/login_recipe (rules/hosts#login-recipe)", at, [
  {
    name: "sets it and makes the host",
    path: "/hosts/login.test/login_recipe",
    send: { actions: [{ kind: "press", key: "Enter" }], logged_in: "#out" },
    status: 200,
    body: { login_recipe: { logged_in: "#out", timeout_s: 30 }, recipes: [] },
  },
  { name: "without actions is 400", path: "/hosts/login.test/login_recipe", send: {}, status: 400 },
]);

scenarios("PUT /hosts/{host}/cookies (rules/hosts#cookies-of-a-host)", at, [
  {
    name: "replaces them and shows no value",
    path: "/hosts/k.test/cookies",
    send: { cookies: [cookie("a", { value: "s3cret" })] },
    status: 200,
    body: { cookies: [{ value: MASKED }] },
    after: async (_h, answer) => expect(answer.text).not.toContain("s3cret"),
  },
  ...["a\nb", "a\u0000b"].map((value) => ({
    name: `control characters are 422: ${JSON.stringify(value)}`,
    path: "/hosts/k.test/cookies",
    send: { cookies: [cookie("a", { value })] },
    status: 422,
    body: issueAt("body", "cookies", 0, "value"),
  })),
  {
    name: "a domain that is none is 422",
    path: "/hosts/k.test/cookies",
    send: { cookies: [cookie("a", { domain: "a b" })] },
    status: 422,
    body: issueAt("body", "cookies", 0, "domain"),
  },
]);

describe("POST /hosts/cookies/sync (rules/hosts#cookie-sync)", () => {
  const sync = (body: unknown, headers = {}) =>
    hub.call("POST", "/hosts/cookies/sync", body, { headers });

  test("groups cookies by their domain, and pushing twice is safe", async () => {
    const cookies = [
      cookie("a", { domain: ".one.test" }),
      cookie("b", { domain: "one.test", expires: Date.now() / 1_000 + 60 }),
      cookie("c", { domain: "Sub.one.test" }),
      cookie("gone", { domain: "sub.one.test", expires: 10 }),
    ];
    for (const _ of [1, 2]) {
      const answer = await sync({ scope: "all", cookies });
      expect(answer.body).toEqual({ hosts: { "one.test": 2, "sub.one.test": 1 } });
    }
    expect((await sync({ scope: "all", cookies: [] })).body).toEqual({ hosts: {} });
  });

  test("the last write wins", async () => {
    for (const value of ["first", "second"])
      await sync({ scope: "all", cookies: [cookie("sid", { domain: "w.test", value })] });
    const [row] = await hub.ctx.db.hosts.find(["w.test"]);
    expect(row?.cookies.map((c) => c.value)).toEqual(["second"]);
  });

  test("active-host takes what the host and its parents have, and leaves other hosts alone", async () => {
    const cookies = ["www.act.test", ".act.test", "other.test", "x.www.act.test"].map((domain) =>
      cookie("n", { domain }),
    );
    const answer = await sync({ scope: "active-host", host: "WWW.act.test", cookies });
    expect(answer.body).toEqual({ hosts: { "act.test": 1, "www.act.test": 1 } });
  });

  test("an extension's origin is answered, and gets no CORS header that another page could use", async () => {
    const answer = await sync(
      { scope: "all", cookies: [] },
      { origin: "chrome-extension://abcdefghijklmnopabcdefghijklmnop" },
    );
    expect(answer.status).toBe(200);
    expect(answer.headers.get("access-control-allow-origin")).toBeNull();
  });

  test("a scope that is none is 422, a missing one 400", async () => {
    expect((await sync({ scope: "some", cookies: [] })).body).toMatchObject(
      issueAt("body", "scope"),
    );
    expect((await sync({ cookies: [] })).status).toBe(400);
  });
});
