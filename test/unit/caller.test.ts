import { expect, test } from "bun:test";
import { createChanges } from "#hub/platform/changes.ts";
import { access } from "#hub/platform/http/access.ts";
import type { Caller } from "#hub/platform/http/caller.ts";
import { gate } from "#hub/platform/http/gate.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { onError } from "#hub/platform/http/on-error.ts";
import { AppError } from "#shared/kit/errors.ts";
import { silentLog } from "#shared/kit/log.ts";

/** What the gate says of who calls, to handlers and to middleware that comes before it. */

const TOKEN = "t0ken";
/** In the place of SVC_API_TOKEN: there is none, and the table has tokens. */
const SOME = "some tokens";
let password = "password";
const admin = {
  isSet: async () => true,
  isPassword: async (given: string) => given === password,
  check: async (given: string | null) => {
    if (given !== password) throw new AppError("unauthorized", "wrong");
  },
};

const wrong: string[] = [];
/** Counts what is told to be wrong, and nothing else. */
const throttle = {
  take: async (count: string) => {
    wrong.push(count);
    return 0;
  },
  waits: () => 0,
  passed: async () => {},
};

function appWith(secrets: { api_token: string | null; worker_secret: string | null }) {
  const app = newApp();
  const seen: (Caller | undefined)[] = [];
  const stills: (() => Promise<boolean>)[] = [];
  app.onError(onError(silentLog));
  app.use(async (c, next) => {
    await next();
    seen.push(c.var.caller);
    if (c.var.still) stills.push(c.var.still);
  });
  const origins = { allowed: async () => [], public_host: null };
  const tokens = {
    exist: secrets.api_token === SOME,
    callerOf: async (secret: string) =>
      secret === "flt_v"
        ? ({ kind: "token", name: "v", role: "viewer", token_id: "t1" } as const)
        : null,
  };
  const logins = { callerOf: async () => null, readKnown: async () => null };
  const asked = { ...secrets, ...(tokens.exist && { api_token: null }) };
  const judges = { secrets: asked, admin, tokens, logins, throttle };
  const disk_room = { requireRoom: () => {} };
  app.use(gate({ ...judges, origins, changes: createChanges(), disk_room }));
  for (const rule of ["public", "view", "admin", "worker"] as const)
    app.get(`/${rule}`, access({ access: rule }), (c) => c.json(c.var.caller));
  const call = async (path: string, headers: Record<string, string> = {}) => {
    const { status } = await app.request(path, { headers });
    return { status, kind: seen.at(-1)?.kind };
  };
  /** Whether each call that was let in would be let in now. */
  const still = () => Promise.all(stills.map((holds) => holds()));
  return Object.assign(call, { still, tokens, asked });
}

test("where there is no token everybody is the open LAN, also with a token of no meaning (rules/access#open-lan)", async () => {
  const call = appWith({ api_token: null, worker_secret: null });
  expect(await call("/public")).toEqual({ status: 200, kind: "open" });
  expect(await call("/view")).toEqual({ status: 200, kind: "open" });
  expect(await call("/view", { authorization: "Bearer x" })).toEqual({ status: 200, kind: "open" });
  expect(await call("/worker")).toEqual({ status: 200, kind: "worker" });
});

test("a caller is known by what it showed, and is nobody where that is wrong", async () => {
  const call = appWith({ api_token: TOKEN, worker_secret: "secret" });
  const bearer = { authorization: `Bearer ${TOKEN}` };
  expect(await call("/view", bearer)).toEqual({ status: 200, kind: "api token" });
  expect(await call("/view", { authorization: "Bearer x" })).toEqual({
    status: 401,
    kind: "nobody",
  });
  expect(await call("/admin", { ...bearer, "x-admin-password": "password" })).toEqual({
    status: 200,
    kind: "administrator",
  });
  expect(await call("/admin", { ...bearer, "x-admin-password": "x" })).toMatchObject({
    status: 401,
  });
  expect(await call("/worker", { "x-worker-secret": "secret" })).toEqual({
    status: 200,
    kind: "worker",
  });
  expect(await call("/worker", bearer)).toEqual({ status: 401, kind: "nobody" });
  expect(await call("/none", bearer)).toEqual({ status: 404, kind: "api token" });
});

test("a token with a role is told with its name, also where its role does not do", async () => {
  const call = appWith({ api_token: SOME, worker_secret: null });
  const viewer = { authorization: "Bearer flt_v" };
  expect(await call("/view")).toEqual({ status: 401, kind: "nobody" });
  expect(await call("/view", viewer)).toEqual({ status: 200, kind: "token" });
  expect(await call("/admin", viewer)).toEqual({ status: 403, kind: "token" });
  expect(await call("/admin", { ...viewer, "x-admin-password": "password" })).toEqual({
    status: 200,
    kind: "administrator",
  });
  expect(await call("/admin", { "x-admin-password": "password" })).toEqual({
    status: 200,
    kind: "administrator",
  });
  expect(await call("/worker")).toEqual({ status: 200, kind: "worker" });
});

test("a right token costs no look at the counts, and a wrong one is counted once", async () => {
  const call = appWith({ api_token: TOKEN, worker_secret: "secret" });
  wrong.length = 0;
  await call("/view", { authorization: `Bearer ${TOKEN}` });
  await call("/view", { authorization: "Bearer flt_v" });
  await call("/view");
  await call("/public", { authorization: "Bearer x" });
  await call("/worker", { authorization: "Bearer x" });
  expect(wrong).toEqual([]);
  await call("/view", { authorization: "Bearer x" });
  await call("/admin", { authorization: "Bearer x" });
  expect(wrong).toHaveLength(2);
});

test("whoever was let in is judged again by the secrets of that time, whatever it showed (rules/access#revoked-tokens)", async () => {
  const open = appWith({ api_token: null, worker_secret: null });
  await open("/view");
  expect(await open.still()).toEqual([true]);
  open.tokens.exist = true;
  expect(await open.still()).toEqual([false]);

  const closed = appWith({ api_token: TOKEN, worker_secret: null });
  closed.asked.api_token = TOKEN;
  await closed("/view", { authorization: `Bearer ${TOKEN}` });
  closed.asked.api_token = "another";
  expect(await closed.still()).toEqual([false]);

  const ruled = appWith({ api_token: SOME, worker_secret: null });
  for (const path of ["/view", "/admin"]) await ruled(path, { "x-admin-password": "password" });
  expect(await ruled.still()).toEqual([true, true]);
  password = "another";
  expect(await ruled.still()).toEqual([false, false]);
  password = "password";
});
