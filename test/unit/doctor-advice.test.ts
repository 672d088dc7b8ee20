import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openDb } from "#hub/platform/db/db.ts";
import { openObjects } from "#hub/platform/stores/open-objects.ts";
import { createHubClient } from "#hub/program/cli/hub-client.ts";
import { checkAccess } from "#hub/program/commands/doctor/access.ts";
import { checkBodies } from "#hub/program/commands/doctor/bodies.ts";
import type { Check } from "#hub/program/commands/doctor/check.ts";
import { checkDatabase } from "#hub/program/commands/doctor/database.ts";
import { checkHub, checkOwnHealth, checkSecret } from "#hub/program/commands/doctor/hub.ts";
import { checkNames } from "#hub/program/commands/doctor/names.ts";
import { checkOwnUpdates } from "#hub/program/commands/doctor/own-updates.ts";
import { checkSandbox } from "#hub/program/commands/doctor/sandbox.ts";
import { checkObjects } from "#hub/program/commands/doctor/stores.ts";
import { programOf, serviceLines } from "#hub/program/commands/doctor/transient.ts";
import { adviceOnWrite } from "#hub/program/commands/doctor/write.ts";
import { gatherVariables } from "#hub/program/variables/variable-sources.ts";
import { silentLog } from "#shared/kit/log.ts";
import { freePort } from "#test/support/servers/ports.ts";

/** Every advice of the doctor follows from what it found. */

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "flotilla-advice-"));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const targetOf = (url: string) => ({
  client: createHubClient(url, undefined),
  named: "HUB_URL",
  secret: null,
});

test("a hub that cannot be reached is told by what keeps this machine from it", async () => {
  const silent = createServer((socket) => socket.on("error", () => {}));
  const deaf = createServer((socket) => socket.destroy());
  const portOf = (server: typeof silent) =>
    new Promise<number>((done) =>
      server.listen(0, "127.0.0.1", () => done((server.address() as { port: number }).port)),
    );
  await portOf(silent);
  const plain = await portOf(deaf);
  try {
    const rows = [
      [`http://127.0.0.1:${freePort()}`, "nothing listens at", "start the hub there"],
      ["http://no-such-host.invalid:8000", "does not resolve", "DNS or /etc/hosts"],
      [`https://127.0.0.1:${plain}`, "does not speak TLS", "with http:// or ws://"],
    ] as const;
    for (const [url, found, advice] of rows) {
      const check = await checkHub(targetOf(url));
      expect(check).toMatchObject({ name: "hub", status: "fail" });
      expect(check.found).toContain(found);
      expect(check.advice).toContain(advice);
      const link = await checkSecret(targetOf(url));
      expect(link).toMatchObject({ name: "worker link", status: "fail" });
      expect(link.advice).not.toContain("WebSockets");
    }
  } finally {
    silent.close();
    deaf.close();
  }
}, 180_000);

/** Answers plain calls as a hub does, and WebSockets as `upgrade` says. */
const routerThat = (upgrade: () => Response, health: () => Response = healthy) =>
  Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) => (new URL(request.url).pathname === "/health" ? health() : upgrade()),
  });
const healthy = () => Response.json({ status: "ok", workers: 0, version: "v1", degraded: [] });

test("what a router makes of a WebSocket says which of its rules is wrong", async () => {
  const rows = [
    [200, "let WebSockets through: Upgrade and Connection"],
    [426, "let WebSockets through: Upgrade and Connection"],
    [401, "asks for a login"],
    [404, "does not send /workers/ to the hubs"],
    [502, "has no hub to send it to"],
  ] as const;
  for (const [status, advice] of rows) {
    await using router = routerThat(() => new Response("", { status }));
    const check = await checkSecret(targetOf(router.url.href));
    expect(check).toMatchObject({ status: "fail" });
    expect(check.found).toBe(`the answer to a WebSocket is ${status}`);
    expect(check.advice).toContain(advice);
  }
}, 180_000);

test("what answers at the hub's address and is none is told from a hub that is degraded", async () => {
  const answer = (body: object, status = 200) => Response.json(body, { status });
  const full = [
    { part: "object_store", detail: "the object store is read-only" },
    { part: "database", detail: "the disk of the database is full" },
  ];
  const rows = [
    [() => new Response("nginx", { status: 502 }), "HTTP 502", "no hub behind it"],
    [() => new Response("login", { status: 401 }), "HTTP 401", "asks for a login"],
    [() => answer({ detail: "not called so" }, 421), "HTTP 421", "SVC_ALLOWED_HOSTS"],
    [() => new Response("hello"), "HTTP 200", "is not a hub: set HUB_URL"],
    [
      () => answer({ status: "degraded", version: "v1", workers: 1, degraded: full }),
      "object_store: the object store is read-only; database: the disk of the database is full",
      "free up space where bodies are stored",
    ],
  ] as const;
  for (const [health, found, advice] of rows) {
    await using router = routerThat(() => new Response(""), health);
    const check = await checkHub(targetOf(router.url.href));
    expect(check).toMatchObject({ name: "hub", status: "fail" });
    expect(check.found).toContain(found);
    expect(check.advice).toContain(advice);
  }
}, 180_000);

test("the health of the hub that runs here is told in its own words, also a control plane's", async () => {
  const degraded = [{ part: "database", detail: "the disk of the database is full" }];
  await using control = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) =>
      new URL(request.url).pathname === "/api/v1/health"
        ? Response.json({ ok: true, version: "v1", degraded })
        : Response.json({ detail: "no such path" }, { status: 404 }),
  });
  const port = Number(control.port);
  const check = await checkOwnHealth({ port, host: "0.0.0.0", tls: null });
  expect(check).toMatchObject({
    status: "fail",
    found: "database: the disk of the database is full",
    advice: expect.stringContaining("free up space on the database's disk"),
  });
  const none = await checkOwnHealth({ port: freePort(), host: "127.0.0.1", tls: null });
  expect(none).toMatchObject({ status: "ok", found: "it is not running here now" });
});

test("a server that asks nobody for a token, or its workers for no secret, is told as that", async () => {
  let status = 200;
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: () => Response.json({}, { status }),
  });
  const at = { port: Number(server.port), host: "127.0.0.1", tls: null };
  const check = (api_token: string | null, worker_secret: string | null) =>
    checkAccess({ ...at, api_token, worker_secret });
  expect(await check(null, null)).toMatchObject({
    status: "warn",
    advice: expect.stringContaining("flotilla tokens create"),
  });
  status = 401;
  expect(await check(null, null)).toMatchObject({
    status: "warn",
    advice: expect.stringContaining("WORKER_SECRET"),
  });
  const long = "s".repeat(32);
  expect(await check(null, long)).toMatchObject({ status: "ok" });
  expect(await check("short", long)).toMatchObject({ status: "warn" });
  expect(await check(null, "short")).toMatchObject({
    status: "warn",
    found: "WORKER_SECRET has 5 characters, which can be guessed",
  });
  await server.stop(true);
  expect(await check(null, null)).toMatchObject({ status: "ok" });
});

test("a SQLite file that is damaged, no database or not to be written is told as that, and stays as it is", async () => {
  const path = (name: string) => join(dir, name);
  const db = await openDb(`sqlite:${path("good.db")}`, { log: silentLog });
  await db.close();
  const good = await checkDatabase({ db_url: `sqlite:${path("good.db")}` });
  expect(good).toMatchObject({ status: "ok" });
  expect(good.found).toContain("a trial write works");
  const bytes = readFileSync(path("good.db"));
  writeFileSync(path("noise.db"), crypto.getRandomValues(new Uint8Array(20_000)));
  writeFileSync(path("torn.db"), Buffer.from(bytes).fill(0xa5, 4_096 * 3, 4_096 * 8));
  for (const name of ["noise.db", "torn.db"]) {
    const before = readFileSync(path(name));
    const check = await checkDatabase({ db_url: `sqlite:${path(name)}` });
    expect(check).toMatchObject({ name: "database", status: "fail" });
    expect(check.advice).toContain("the file is damaged");
    expect(check.advice).toContain("flotilla restore");
    expect(readFileSync(path(name)).equals(before)).toBe(true);
  }
  const strange = await checkDatabase({ db_url: "mysql://a/b" });
  expect(strange.advice).toBe("set SVC_DB_URL to sqlite:PATH or postgres://…");
  const away = await checkDatabase({ db_url: `postgres://a@127.0.0.1:${freePort()}/x` });
  expect(away.advice).toContain("nothing listens there: start Postgres");
}, 180_000);

test("a write that fails is told by its cause, and nothing is left by one that succeeds", async () => {
  const advice = (code: string) =>
    adviceOnWrite(Object.assign(new Error(code), { code }), "/x", "SVC_DATA_DIR");
  expect(advice("EACCES")).toContain("chown /x");
  expect(advice("EROFS")).toContain("ReadWritePaths=");
  expect(advice("ENOSPC")).toContain("free space");
  expect(advice("ENOTDIR")).toContain("is a file");
  const objects = join(dir, "objects");
  const later = await checkObjects({ objects_url: `file:${objects}`, object_keys: null });
  expect(later.found).toContain("the first start creates it");
  mkdirSync(objects);
  const there = await checkObjects({ objects_url: `file:${objects}`, object_keys: null });
  expect(there).toMatchObject({ status: "ok" });
  expect([...new Bun.Glob("**").scanSync({ cwd: objects, dot: true })]).toEqual([]);
  const none = await checkObjects({ objects_url: "file:/proc/none", object_keys: null });
  expect(none).toMatchObject({ status: "fail" });
});

test("bubblewrap without namespaces is told by the check of them, or by what else keeps it from them", async () => {
  const path = mkdtempSync(join(dir, "path-"));
  // As root, what runs it is another user.
  for (const at of [dir, path]) chmodSync(at, 0o755);
  const write = (name: string, text: string) => {
    writeFileSync(join(path, name), `#!/bin/sh\n${text}\n`);
    chmodSync(join(path, name), 0o755);
  };
  for (const name of ["nice", "prlimit", "setpriv", "ldd"]) {
    const real = Bun.which(name);
    write(name, `exec ${real} "$@"`);
  }
  const adviceFor = async (words: string, namespaces: Check) => {
    write("bwrap", `echo "${words}" >&2; exit 1`);
    const config = { sandbox: "bubblewrap" as const, data_dir: join(dir, "data"), path };
    return (await checkSandbox(config, namespaces)).advice;
  };
  const name = "user namespaces";
  const off: Check = { name, status: "warn", found: "switched off", advice: "sysctl -w it" };
  const on: Check = { name, status: "ok", found: "allowed", advice: "" };
  const refused = "bwrap: No permissions to create a new namespace";
  expect(await adviceFor(refused, off)).toBe("sysctl -w it");
  const profile = await adviceFor(refused, on);
  expect(profile).toContain("dmesg");
  expect(profile).not.toContain("the check user namespaces");
  expect(await adviceFor("bwrap: Unknown option --size", on)).toContain("newer bubblewrap");
  expect(await adviceFor("bwrap: Can't mount proc on /newroot/proc", on)).toContain("/proc");
}, 180_000);

test("an update that failed on this worker is told with its reason and what runs instead", async () => {
  const data = join(dir, "worker");
  const deps = { env: { SVC_DATA_DIR: data }, path: "" };
  expect(await checkOwnUpdates(deps)).toMatchObject({
    status: "ok",
    found: "no update was made here yet; unsigned build, the hub's key is not known yet",
  });
  mkdirSync(join(data, "versions"), { recursive: true });
  const bad = { version: "abc", reason: "it did not register within 120 s", at: "2026-01-01" };
  const state = { base: "base1", current: null, previous: null, attempts: null, bad };
  writeFileSync(join(data, "versions/state.json"), JSON.stringify(state));
  const check = await checkOwnUpdates(deps);
  expect(check).toMatchObject({ name: "updates", status: "warn" });
  expect(check.found).toBe(
    "version abc failed here at 2026-01-01: it did not register within 120 s; version base1 of the program runs",
  );
  writeFileSync(join(data, "versions/state.json"), "{");
  expect(await checkOwnUpdates(deps)).toMatchObject({ status: "warn" });
});

test("a unit's own restrictions are taken over for the doctor, and nothing of its life", () => {
  const text = [
    ...["# /etc/systemd/system/x.service", "[Unit]", "Conflicts=other.service"],
    ...["[Service]", "Type=notify", "User=flotilla", "ExecStart=/usr/local/bin/flotilla hub \\"],
    ...["  --port 8000", "# a comment \\", "Environment=A=1 \\", "  B=2", "RuntimeDirectory=x"],
    ...["ProtectSystem=strict", "WatchdogSec=30", "[Install]", "WantedBy=multi-user.target"],
    ...["# drop-in", "[Service]", "ReadWritePaths=/srv/more", "Restart=always"],
  ].join("\n");
  expect(serviceLines(text)).toEqual([
    ...["User=flotilla", "Environment=A=1 \\", "  B=2"],
    ...["ProtectSystem=strict", "ReadWritePaths=/srv/more"],
  ]);
  expect(programOf(text)).toBe("/usr/local/bin/flotilla");
});

test("bodies that the database names and the store has not are told, and how many were looked for", async () => {
  const db_url = `sqlite:${join(dir, "bodies.db")}`;
  const objects = join(dir, "bodies");
  const look = () => checkBodies({ db_url, objects_url: `file:${objects}`, object_keys: null });
  expect(await look()).toMatchObject({ status: "ok", found: "there are none yet" });
  await (await openDb(db_url, { log: silentLog })).close();
  expect(await look()).toMatchObject({ status: "ok", found: "there are none yet" });
  const rows = new Database(join(dir, "bodies.db"));
  /** A row with these values, and anything where a column needs one. */
  const fill = (table: string, values: Record<string, string>) => {
    const columns = rows
      .query<{ name: string; type: string; notnull: number; dflt_value: unknown }, []>(
        `pragma table_info(${table})`,
      )
      .all()
      .filter((column) => column.name in values || (column.notnull && column.dflt_value === null));
    const marks = columns.map(() => "?").join(", ");
    const names = columns.map(({ name }) => name).join(", ");
    rows
      .query(`insert into ${table} (${names}) values (${marks})`)
      .run(...columns.map(({ name, type }) => values[name] ?? (/int|real/i.test(type) ? 0 : "{}")));
  };
  for (const [job_id, status] of [
    ["j1", "completed"],
    ["j2", "running"],
  ] as const) {
    fill("jobs", { job_id, status });
    for (const name of ["a.png", "b.png"]) fill("assets", { job_id, name });
  }
  rows.close();
  const none = await look();
  expect(none).toMatchObject({ name: "bodies", status: "fail" });
  expect(none.found).toStartWith("2 of 2 sampled bodies are missing: jobs/j1/assets/");
  expect(none.advice).toContain("if only the database was restored");
  expect(existsSync(objects)).toBe(false);
  const store = await openObjects(`file:${objects}`, { log: silentLog });
  for (const name of ["a.png", "b.png"])
    await store.put(`jobs/j1/assets/${name}`, new Uint8Array(4));
  await store.close();
  expect(await look()).toMatchObject({
    status: "ok",
    found: "all 2 sampled bodies are there",
  });
});

test("names that nobody reads are told with the nearest one, and those that were to guard something fail", () => {
  const told = (env: Record<string, string>) => checkNames(gatherVariables({ env, secrets: [] }));
  expect(told({ SVC_PORT: "1" })).toMatchObject({ status: "ok" });
  expect(told({ SVC_PROT: "1" })).toMatchObject({ name: "variables", status: "warn" });
  expect(told({ SVC_PROT: "1" }).found).toContain("did you mean SVC_PORT?");
  expect(told({ SVC_API_TOKN: "x" })).toMatchObject({ status: "fail" });
});
