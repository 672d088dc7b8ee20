import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import type { HubMode } from "#hub/config.ts";
import { access, type RouteRules, routeTable } from "#hub/http/access.ts";
import { newApp } from "#hub/http/new-app.ts";
import { type Attacked, attack, attackAll, startAttacked } from "#test/support/attack-calls.ts";

/** Every route of the running programs is answered by the rule of its access, and described with it. */

setDefaultTimeout(300_000);

const TOKEN = "t0ken-of-the-test";
const PASSWORD = "password-of-the-test";
const SECRET = "secret-of-the-test";
const ALL = { SVC_API_TOKEN: TOKEN, SVC_ADMIN_PASSWORD: PASSWORD, WORKER_SECRET: SECRET };

const CALLERS = {
  stranger: {},
  user: { authorization: `Bearer ${TOKEN}` },
  browser: { cookie: `flotilla_token=${TOKEN}` },
  administrator: { authorization: `Bearer ${TOKEN}`, "x-admin-password": PASSWORD },
  worker: { "x-worker-secret": SECRET },
};
type Caller = keyof typeof CALLERS;

/** Who turns whom away; null: the call reaches its route. */
const RULES: Record<string, Record<Caller, string | null>> = {
  public: { stranger: null, user: null, browser: null, administrator: null, worker: null },
  capability: { stranger: null, user: null, browser: null, administrator: null, worker: null },
  link: {
    ...{ stranger: "link", user: "link", browser: "link" },
    ...{ administrator: "link", worker: "link" },
  },
  view: { stranger: "token", user: null, browser: null, administrator: null, worker: "token" },
  operate: { stranger: "token", user: null, browser: null, administrator: null, worker: "token" },
  admin: {
    ...{ stranger: "token", user: "password", browser: "password" },
    ...{ administrator: null, worker: "token" },
  },
  worker: {
    ...{ stranger: "secret", user: "secret", browser: "secret" },
    ...{ administrator: "secret", worker: null },
  },
  // Its handler asks for what only the worker's link was told.
  "worker by proof": {
    stranger: null,
    user: null,
    browser: null,
    administrator: null,
    worker: null,
  },
};
const nameOf = ({ access, proof }: RouteRules) =>
  proof === undefined ? access : `${access} by proof`;

let attacked: Attacked | undefined;
afterEach(async () => {
  await attacked?.hub.close();
  attacked = undefined;
});

for (const mode of ["hub", "dev", "control"] satisfies HubMode[])
  test(`every route of ${mode} mode asks for what its access line says`, async () => {
    attacked = await startAttacked(mode, ALL);
    const { hub, rows } = attacked;
    expect(rows.length).toBeGreaterThan(mode === "control" ? 60 : 150);
    for (const caller of Object.keys(CALLERS) as Caller[]) {
      const found = await attackAll(
        rows,
        async (row) => (await attack(hub, row, CALLERS[caller])).refused_by,
      );
      const told = Object.fromEntries(
        rows.map(({ method, path, rules }) => [
          `${method} ${path}`,
          RULES[nameOf(rules)]?.[caller],
        ]),
      );
      expect({ caller, ...Object.fromEntries(found) }).toEqual({ caller, ...told });
    }
  });

test("§5 without a token the LAN is open: only the administrator's calls are refused, while there is no password", async () => {
  attacked = await startAttacked("hub");
  const { hub, rows } = attacked;
  const found = await attackAll(rows, async (row) => (await attack(hub, row)).refused_by);
  const refusedBy = ({ access, until_password }: RouteRules) => {
    if (access === "link") return "link";
    return access === "admin" && until_password === undefined ? "no password" : null;
  };
  const told = rows.map(({ method, path, rules }) => [`${method} ${path}`, refusedBy(rules)]);
  expect(Object.fromEntries(found)).toEqual(Object.fromEntries(told));
});

test("uploads of workers ask for the token of their link, whatever else is sent", async () => {
  attacked = await startAttacked("hub", ALL);
  const { hub, rows } = attacked;
  const uploads = rows.filter(({ rules }) => rules.proof === "upload token");
  expect(uploads.length).toBeGreaterThan(5);
  // A body that breaks a rule of its own is told before.
  for (const row of uploads)
    for (const caller of ["stranger", "worker"] as const)
      expect([400, 401, 422]).toContain((await attack(hub, row, CALLERS[caller])).status);
});

test("PATCH /settings is the administrator's where there is a password", async () => {
  attacked = await startAttacked("hub", { SVC_ADMIN_PASSWORD: PASSWORD });
  const patch = (headers: Record<string, string> = {}) =>
    attacked?.hub.call("PATCH", "/settings", { cors_origins: ["https://a.test"] }, { headers });
  expect(await patch()).toMatchObject({ status: 401 });
  expect(await patch({ "x-admin-password": "wrong" })).toMatchObject({ status: 401 });
  expect(await patch({ "x-admin-password": PASSWORD })).toMatchObject({ status: 200 });
  const read = await attacked.hub.call("GET", "/settings");
  expect(read.body).toMatchObject({ settings: { cors_origins: ["https://a.test"] } });
});

test("every described route shows its access, and what it asks for", async () => {
  attacked = await startAttacked("hub");
  const { hub, rows } = attacked;
  const { body } = await hub.call("GET", "/openapi.json");
  const told = new Map(
    rows.map(({ method, path, rules }) => [
      `${method} ${path === "/*" ? "/:target_url" : path.replace(/\{[^}]*\}/g, "")}`,
      rules,
    ]),
  );
  const operations = Object.entries(body.paths as Record<string, Record<string, object>>).flatMap(
    ([path, of]) => Object.entries(of).map(([method, one]) => ({ path, method, ...one })),
  );
  for (const operation of operations) {
    const { path, method } = operation;
    const name = `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ":$1")}`;
    // Described beside the catch-all that answers it.
    const rules = told.get(name) ?? told.get("GET /:target_url");
    expect({ name, ...operation }).toMatchObject({ name, "x-access": rules?.access });
    expect({ name, ...operation }).toHaveProperty("security");
    for (const key of ["access", "owner", "changes", "middleware", "rules"])
      expect({ name, ...operation }).not.toHaveProperty(key);
  }
  const { securitySchemes } = body.components;
  const named = operations.flatMap((one) => (one as { security?: object[] }).security ?? []);
  for (const name of named.flatMap((one) => Object.keys(one)))
    expect(securitySchemes).toHaveProperty(name);
});

test("a route without an access line is refused when the program is put together", () => {
  const app = newApp();
  app.get("/told", access({ access: "public" }), (c) => c.text(""));
  app.post("/silent/:id", (c) => c.text(""));
  expect(() => routeTable(app)).toThrow("routes without an access line: POST /silent/:id");
});
