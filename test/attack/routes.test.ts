import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import type { HubMode } from "#hub/platform/config.ts";
import { access, type RouteRules, routeTable } from "#hub/platform/http/access.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import type { Role } from "#shared/protocol/schema/token.ts";
import { ROLES } from "#shared/protocol/token-roles.ts";
import {
  type Attacked,
  attack,
  attackAll,
  startAttacked,
} from "#test/support/clients/attack-calls.ts";

/** Every route of the running programs is answered by the rule of its access, and described with it. */

setDefaultTimeout(300_000);

const TOKEN = "t0ken-of-the-test";
const PASSWORD = "password-of-the-test";
const SECRET = "secret-of-the-test";
const ALL = { SVC_API_TOKEN: TOKEN, SVC_ADMIN_PASSWORD: PASSWORD, WORKER_SECRET: SECRET };

const CALLERS = {
  stranger: {},
  user: { authorization: `Bearer ${TOKEN}` },
  "old cookie": { cookie: `flotilla_token=${TOKEN}` },
  administrator: { authorization: `Bearer ${TOKEN}`, "x-admin-password": PASSWORD },
  "password alone": { "x-admin-password": PASSWORD },
  worker: { "x-worker-secret": SECRET },
};
type Caller = keyof typeof CALLERS | Role | `session of ${Role}`;
type Told = string | null;

const LEAST: Record<string, Role> = { view: "viewer", submit: "submitter", operate: "operator" };

/** Who turns this caller away at such a route; null: the call reaches it. */
function toldTo(caller: Caller, { access, proof, also, operator_for }: RouteRules): Told {
  if (access === "public" || access === "capability" || proof !== undefined) return null;
  if (access === "link") return "link";
  if (access === "worker") return caller === "worker" ? null : "secret";
  const role = caller.replace("session of ", "") as Role;
  if (ROLES.includes(role)) {
    // Nothing that is sent here is what submitters may send there.
    const least = operator_for === undefined ? (LEAST[access] ?? "admin") : "operator";
    return ROLES.indexOf(role) >= ROLES.indexOf(least) ? null : "role";
  }
  if (caller === "administrator") return null;
  if (caller === "user") return access === "admin" ? "password" : null;
  return caller === "worker" && also === "worker" ? null : "token";
}

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
    const callers = new Map<Caller, Record<string, string>>(Object.entries(CALLERS) as never);
    for (const role of ROLES) {
      const { body } = await hub.call(
        "POST",
        "/tokens",
        { name: role, role },
        { headers: CALLERS.administrator },
      );
      callers.set(role, { authorization: `Bearer ${body.token}` });
      const login = await hub.call("POST", "/ui/login", { token: body.token });
      const [cookie = ""] = login.headers.getSetCookie();
      callers.set(`session of ${role}`, { cookie: cookie.split(";", 1)[0] ?? "" });
    }
    for (const [caller, headers] of callers) {
      // A logout ends the very session that it comes with.
      const tried = rows.filter(({ path }) => path !== "/ui/logout");
      const found = await attackAll(
        tried,
        async (row) => (await attack(hub, row, headers)).refused_by,
      );
      const told = tried.map(({ method, path, rules }) => [
        `${method} ${path}`,
        toldTo(caller, rules),
      ]);
      expect({ caller, ...Object.fromEntries(found) }).toEqual({
        caller,
        ...Object.fromEntries(told),
      });
    }
  });

test("without a token the LAN is open: only the administrator's calls are refused, while there is no password (rules/access#open-lan)", async () => {
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
