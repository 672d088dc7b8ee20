import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAuditLog } from "#hub/platform/access/audit/audit-log.ts";
import type { HubMode } from "#hub/platform/config.ts";
import type { NewAuditRow } from "#hub/platform/db/rows.ts";
import type { TableRow } from "#hub/platform/http/access.ts";
import { silentLog } from "#shared/kit/log.ts";
import type { AuditEntry } from "#shared/protocol/schema/audit.ts";
import { type Attacked, addressOf, startAttacked } from "#test/support/clients/attack-calls.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import { startFakeScreen } from "#test/support/fakes/fake-screen.ts";
import { openSessionAt, openSocketAt } from "#test/support/fakes/live-session.ts";
import { startCluster } from "#test/support/rigs/cluster.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";
import { PROGRAM, startProgram } from "#test/support/rigs/program.ts";
import { freePort } from "#test/support/servers/ports.ts";
import { testServers } from "#test/support/servers/test-servers.ts";

/** The audit log: every call that changes something leaves one entry, whoever made it, and none holds a secret. */

setDefaultTimeout(300_000);

const TOKEN = "t0ken-of-the-test";
const PASSWORD = "password-of-the-test";
const SECRET = "secret-of-the-test";
const ALL = { SVC_API_TOKEN: TOKEN, SVC_ADMIN_PASSWORD: PASSWORD, WORKER_SECRET: SECRET };
const USER = { authorization: `Bearer ${TOKEN}` };
const ADMIN = { ...USER, "x-admin-password": PASSWORD };
/** Stands in every body, header, cookie and query, and must come back nowhere. */
const HIDDEN = "h1dden-of-the-caller";

let attacked: Attacked | undefined;
afterEach(async () => {
  await attacked?.hub.close();
  attacked = undefined;
});

/** Everything that is recorded, the oldest first, once `until` holds of it. */
async function entries(
  hub: Pick<TestHub, "call">,
  until: (all: AuditEntry[]) => boolean = () => true,
  headers: Record<string, string> = ADMIN,
): Promise<AuditEntry[]> {
  for (;;) {
    const { status, body } = await hub.call("GET", "/audit?limit=1000", undefined, { headers });
    expect({ status, dropped: body.dropped }).toEqual({ status: 200, dropped: 0 });
    const all = (body.entries as AuditEntry[]).toReversed();
    if (until(all)) return all;
    // It is stored once a second.
    await Bun.sleep(100);
  }
}

/** Chromium's discovery closes and activates tabs by GET; sockets and visits are recorded otherwise. */
const closesTabs = ({ changes = [], by_visit, takes_over }: TableRow["rules"]) =>
  changes.length > 0 && by_visit === undefined && takes_over === undefined;

/** What only makes calls of its own is in the audit log by those, and a command by the beginning of its client. */
const isMutating = ({ method, rules }: TableRow) =>
  (method !== "GET" || closesTabs(rules)) &&
  rules.access !== "worker" &&
  rules.calls_others !== true &&
  rules.of_client !== true;
const HAS_BODY = /^(POST|PUT|PATCH)$/;
const hides = (method: string) => ({
  method,
  headers: {
    ...ADMIN,
    cookie: `flotilla_token=${TOKEN}; other=${HIDDEN}`,
    "x-hidden": HIDDEN,
    "idempotency-key": `${HIDDEN}-${crypto.randomUUID()}`,
    "x-forwarded-for": "203.0.113.7",
    ...(HAS_BODY.test(method) && { "content-type": "application/json" }),
  },
  ...(HAS_BODY.test(method) && {
    body: JSON.stringify({ password: HIDDEN, url: `http://${HIDDEN}.test/`, [HIDDEN]: HIDDEN }),
  }),
  redirect: "manual" as const,
});

for (const mode of ["hub", "control"] satisfies HubMode[])
  test(`every route of ${mode} mode that changes something leaves one entry, and no secret of it`, async () => {
    attacked = await startAttacked(mode, ALL);
    const { hub, rows } = attacked;
    const mutating = rows.filter(isMutating);
    expect(mutating.length).toBeGreaterThan(mode === "control" ? 25 : 70);
    for (const { method, path } of mutating) {
      const answer = await fetch(`${hub.url}${addressOf(path)}?q=${HIDDEN}`, hides(method));
      await answer.body?.cancel();
    }
    const end = await fetch(`${hub.url}/audit-test-end`, { method: "POST", headers: ADMIN });
    expect(end.status).toBe(404);
    const all = await entries(hub, (some) => some.at(-1)?.path === "/audit-test-end");
    const told = all
      .filter(({ times }) => times === 1)
      .map(({ method, route }) => `${method} ${route}`);
    const expected = mutating.map(({ method, path }) => `${method} ${path}`);
    expect(told.toSorted()).toEqual([...expected, "POST null"].toSorted());
    for (const secret of [HIDDEN, TOKEN, PASSWORD, SECRET])
      expect(JSON.stringify(all)).not.toContain(secret);
    for (const { address, hub: at, caller } of all) {
      expect(["127.0.0.1", "::ffff:127.0.0.1"]).toContain(address);
      expect(at).toMatch(/.\/[\w-]{12}$/);
      expect(caller.kind).not.toBe("open");
    }
    const refused = all.find(({ route }) => route === "/api/v1/workloads");
    expect(refused).toMatchObject({ caller: { kind: "api token" }, method: "POST" });
    expect(refused?.error).toBe(
      "Not JSON, or a required field is missing: body.slug, body.executor_type",
    );
  });

describe("what else is recorded", () => {
  test("a GET that makes a job, refused calls, and sockets that take over; no look, no worker, no preflight", async () => {
    attacked = await startAttacked("hub", ALL);
    const { hub } = attacked;
    const screen = await startFakeScreen();
    try {
      const session = await openSessionAt(hub, screen.port, { secret: SECRET });
      const sid = session.session_id;
      const shown = `/sessions/${sid.slice(0, 4)}…`;
      const by_path = `/https://user:${HIDDEN}@127.0.0.1:9/p?token=${HIDDEN}`;
      expect((await hub.call("GET", by_path, undefined, { headers: USER })).status).toBe(200);
      await hub.call("GET", "/jobs", undefined, { headers: USER });
      await hub.call("OPTIONS", "/jobs", undefined, { headers: USER });
      expect((await hub.call("GET", "/hosts")).status).toBe(401);
      const made = await hub.call("POST", "/links", { kind: "viewer", id: sid }, { headers: USER });
      const { pathname } = new URL(made.body.url);
      const [, , link = ""] = pathname.split("/");
      for (const path of [
        `/sessions/${sid}/novnc/websockify`,
        `/sessions/${sid}/novnc/websockify?view_only=true`,
        `${pathname}websockify`,
      ])
        expect(await openSocketAt(hub, path, ["binary"]).opened).toBe(true);
      const cdp = openSocketAt(hub, `/sessions/${sid}/cdp`, [], USER);
      expect(await cdp.opened).toBe(true);
      await hub.call("GET", `${pathname.slice(0, 20)}x/viewer.js`);
      const patch = { headers: { ...USER, "x-admin-password": HIDDEN } };
      expect((await hub.call("PATCH", "/settings", {}, patch)).status).toBe(401);
      const all = await entries(hub, (some) => some.some(({ method }) => method === "PATCH"));
      const found = all.map(({ method, route, path, status, caller, error }) => [
        ...[`${method} ${route}`, path, status, caller.kind, error],
      ]);
      const token = "a bearer token is required";
      const ended =
        "this link was not made here, or the administrator has ended it: ask for a new one";
      expect(found).toEqual([
        ["GET /*", "/https://***@127.0.0.1:9/p", 200, "api token", null],
        ["GET /hosts", "/hosts", 401, "nobody", token],
        ["POST /links", "/links", 201, "api token", null],
        ["GET /sessions/:sid/novnc/websockify", `${shown}/novnc/websockify`, 101, "nobody", null],
        ["GET /sessions/:sid/cdp", `${shown}/cdp`, 101, "api token", null],
        [
          "GET /links/:link/viewer.js",
          `/links/${link.slice(0, 4)}…/viewer.js`,
          403,
          "nobody",
          ended,
        ],
        ["PATCH /settings", "/settings", 401, "api token", "the administrator password is wrong"],
      ]);
      expect(JSON.stringify(all)).not.toContain(sid);
      expect(JSON.stringify(all)).not.toContain(HIDDEN);
    } finally {
      screen.stop();
    }
  });

  test("a crowd of refused calls is one entry, and a minute later another with their number", async () => {
    const clock = createFakeClock();
    const rows: NewAuditRow[] = [];
    const audit = createAuditLog({
      db: {
        audit: { append: async (some) => void rows.push(...some), deleteBefore: async () => 0 },
      },
      clock,
      log: silentLog,
      hub: "host/id",
      days: () => 90,
      logs: () => false,
    });
    const call = {
      ...({ caller_kind: "nobody", caller_name: null, role: null, token_id: null } as const),
      address: "10.0.0.9",
      method: "GET",
      route: "/jobs/:id",
      status: 401,
      error: "no",
    };
    for (let n = 0; n < 5_000; n += 1) audit.record({ ...call, path: `/jobs/${n}` }, true);
    audit.record({ ...call, path: "/jobs/1", address: "10.0.0.8" }, true);
    await clock.advance(2_000);
    expect(rows.map(({ address, times }) => [address, times])).toEqual([
      ["10.0.0.9", 1],
      ["10.0.0.8", 1],
    ]);
    await clock.advance(60_000);
    expect(rows.slice(2)).toMatchObject([
      { address: "10.0.0.9", path: "/jobs/4999", times: 4_999 },
    ]);
    // From very many addresses they are not merged, yet what waits is bounded.
    for (let n = 0; n < 5_000; n += 1)
      audit.record({ ...call, path: "/jobs/1", address: `10.1.${n >> 8}.${n & 255}` }, true);
    await audit.stop();
    expect(rows).toHaveLength(3 + 5_000);
    expect(audit.dropped).toBe(0);
  });

  test("while the database takes nothing calls go on, what waits is bounded, and what is dropped is counted and said", async () => {
    const clock = createFakeClock();
    const rows: NewAuditRow[] = [];
    const said: string[] = [];
    let away = true;
    const append = async (some: NewAuditRow[]) => {
      if (away) throw new Error("database is away");
      rows.push(...some);
    };
    const tell = (_fields: object, text: string) => void said.push(text);
    const audit = createAuditLog({
      db: { audit: { append, deleteBefore: async () => 0 } },
      clock,
      hub: "host/id",
      days: () => 90,
      logs: () => false,
      log: { ...silentLog, warn: tell, info: tell },
    });
    const call = {
      ...({ caller_kind: "open", caller_name: null, role: null, token_id: null } as const),
      address: "10.0.0.9",
      method: "POST",
      route: "/jobs",
      path: "/jobs",
      error: null,
    };
    for (let n = 0; n < 12_000; n += 1) {
      audit.record({ ...call, status: 200 }, false);
      if (n % 3_000 === 0) await clock.advance(1_000);
    }
    await clock.advance(5_000);
    expect(audit.dropped).toBe(2_000);
    away = false;
    await clock.advance(2_000);
    expect(rows).toHaveLength(10_000);
    expect(said).toEqual(["cannot record calls for now", "recording calls again"]);
    await audit.stop();
  });
});

describe("who reads it, and for how long", () => {
  test("it is the administrator's; in an open installation without a password everybody's", async () => {
    attacked = await startAttacked("hub", ALL);
    const ask = (headers = {}) => attacked?.hub.call("GET", "/audit", undefined, { headers });
    expect((await ask())?.status).toBe(401);
    expect((await ask(USER))?.status).toBe(401);
    expect((await ask({ ...USER, "x-admin-password": "wrong" }))?.status).toBe(401);
    expect((await ask(ADMIN))?.status).toBe(200);
    await attacked.hub.close();
    attacked = await startAttacked("hub");
    expect((await ask())?.body).toMatchObject({ entries: [], next_cursor: null, dropped: 0 });
  });

  test("filters narrow one another, and pages lead to the end", async () => {
    const hub = await startTestHub({ alone: true });
    try {
      for (let n = 0; n < 5; n += 1) await hub.call("POST", "/jobs", { url: "no url" });
      await hub.call("DELETE", "/jobs/none");
      const read = async (query: string) => (await hub.call("GET", `/audit?${query}`)).body;
      await entries(hub, (all) => all.length === 6, {});
      const count = async (query: string) => (await read(query)).entries.length;
      expect(await count("method=post")).toBe(5);
      expect(await count("route=/jobs/:id")).toBe(1);
      expect(await count("status=422&method=POST")).toBe(5);
      expect(await count("status=4xx")).toBe(6);
      expect(await count("status=2xx")).toBe(0);
      expect(await count("who=open")).toBe(6);
      expect(await count("who=127.0.0.1")).toBe(6);
      expect(await count("who=admin")).toBe(0);
      expect(await count("since=2100-01-01T00:00:00Z")).toBe(0);
      expect(await count("until=2000-01-01T00:00:00Z")).toBe(0);
      const seen: number[] = [];
      for (let cursor: string | null = ""; cursor !== null; ) {
        const page = await read(`limit=2${cursor && `&cursor=${cursor}`}`);
        seen.push(...page.entries.map(({ id }: AuditEntry) => id));
        cursor = page.next_cursor;
      }
      expect(seen).toEqual([6, 5, 4, 3, 2, 1]);
      for (const wrong of ["status=600", "status=abc", "cursor=x", "since=now", "limit=0"])
        expect((await hub.call("GET", `/audit?${wrong}`)).status).toBe(422);
    } finally {
      await hub.close();
    }
  });

  test("what is older than SVC_AUDIT_DAYS is deleted; 0 keeps all", async () => {
    for (const [SVC_AUDIT_DAYS, left] of [
      ["2", ["/new"]],
      ["0", ["/old", "/new"]],
    ] as const) {
      const clock = createFakeClock();
      const hub = await startTestHub({ alone: true, clock, env: { SVC_AUDIT_DAYS } });
      const row = {
        ...({ caller_kind: "open", caller_name: null, role: null, token_id: null } as const),
        hub: "h/1",
        address: "::1",
        method: "POST",
        route: null,
        status: 200,
        error: null,
        times: 1,
      };
      const day = 86_400_000;
      await hub.ctx.db.audit.append([
        { ...row, path: "/old", at: clock.now() - 2 * day - 1 },
        { ...row, path: "/new", at: clock.now() - 2 * day + 600_000 },
      ]);
      await clock.advance(60_000);
      const found = await hub.ctx.db.audit.list({ limit: 10 });
      expect(found.map(({ path }) => path).toReversed()).toEqual([...left]);
      await hub.close();
    }
  });

  test("a hub that stops has stored all", async () => {
    const hub = await startTestHub({ alone: true });
    try {
      await Promise.all(
        Array.from({ length: 300 }, (_, n) => hub.call("DELETE", `/jobs/none-${n}`)),
      );
      await hub.restart();
      expect(await entries(hub, () => true, {})).toHaveLength(300);
    } finally {
      await hub.close();
    }
  });

  test("a process that is killed loses the last batch at most", async () => {
    const dir = mkdtempSync(join(tmpdir(), "flotilla-audit-"));
    const port = freePort();
    const start = async () => {
      const program = startProgram([...PROGRAM, "control"], {
        env: { SVC_HOST: "127.0.0.1", SVC_PORT: String(port), SVC_DATA_DIR: dir },
      });
      await program.says("control plane started", 60_000);
      return program;
    };
    const call = async (method: string, path: string) => {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method });
      return {
        status: answer.status,
        body: (await answer.json().catch(() => null)) as { entries: AuditEntry[] } | null,
      };
    };
    let program = await start();
    try {
      for (let n = 0; n < 20; n += 1) await call("DELETE", `/api/v1/workloads/none-${n}`);
      const count = async () => (await call("GET", "/audit?limit=1000")).body?.entries.length ?? 0;
      while ((await count()) < 20) await Bun.sleep(100);
      await call("DELETE", "/api/v1/workloads/last");
      program.kill("SIGKILL");
      await program.exited;
      program = await start();
      expect([20, 21]).toContain(await count());
    } finally {
      program.kill("SIGKILL");
      await program.exited;
      rmSync(dir, { recursive: true, force: true });
    }
  });

  test("of several hubs the one that was called records, also what another answers", async () => {
    const { postgres } = await testServers();
    const cluster = await startCluster({ db_url: await postgres.createDatabase() });
    const screen = await startFakeScreen();
    try {
      const [first, second] = cluster.hubs;
      if (!first || !second) throw new Error("no hubs");
      const session = await openSessionAt(first, screen.port, { secret: "cluster-secret" });
      const mine = await second.call("DELETE", `/sessions/${session.session_id}`);
      expect(mine.status).toBe(204);
      await first.call("POST", "/jobs", { url: TARGET, mode: "none" });
      const all = await entries(first, (some) => some.length >= 2, {});
      expect(all).toMatchObject([
        { method: "DELETE", status: 204, hub: expect.stringContaining(second.ctx.hub_id) },
        { method: "POST", status: 422, hub: expect.stringContaining(first.ctx.hub_id) },
      ]);
      // Whoever says that a call was passed on does not escape it.
      const forged = { "flotilla-relay": second.ctx.hub_id, "flotilla-relay-proof": "" };
      await first.call("DELETE", "/jobs/none", undefined, { headers: forged });
      const more = await entries(second, (some) => some.length >= 3, {});
      expect(more.at(-1)).toMatchObject({ method: "DELETE", status: 403, error: "bad relay mark" });
    } finally {
      await cluster.close();
      screen.stop();
    }
  });
});
