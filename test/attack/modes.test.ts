import { afterEach, beforeEach, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openDb } from "#hub/platform/db/db.ts";
import { openDataDir } from "#hub/platform/stores/data-dir.ts";
import { createLog, silentLog } from "#shared/kit/log.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { startTestHub } from "#test/support/rigs/hub.ts";
import { PROGRAM, startProgram } from "#test/support/rigs/program.ts";
import { freePort } from "#test/support/servers/ports.ts";

/** Cookies, logins and tokens lie in the data directory: other users of the machine read none of it. */

const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);
let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "flotilla-modes-"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

test("a hub's data directory, its database with WAL, and its stores are for their user alone", async () => {
  const before = process.umask(0);
  const hub = await startTestHub({ alone: true });
  try {
    expect((await hub.call("GET", "/jobs")).status).toBe(200);
    expect(modeOf(hub.data_dir)).toBe("700");
    const names = readdirSync(hub.data_dir);
    const open = names.map((name) => [name, modeOf(join(hub.data_dir, name))] as const);
    if (hub.ctx.config.db_url.startsWith("sqlite:"))
      expect(names).toEqual(expect.arrayContaining(["flotilla.db", "flotilla.db-wal"]));
    // What lies within a directory of 0700 is closed with it; files are closed by themselves too.
    const holdsRows = /^flotilla\.db(-wal|-shm)?$/;
    expect(open.filter(([name, mode]) => holdsRows.test(name) && mode !== "600")).toEqual([]);
    expect(open.filter(([name, mode]) => name === "objects" && mode !== "700")).toEqual([]);
  } finally {
    process.umask(before);
    await hub.close();
  }
}, 180_000);

function openInstallation(): string {
  const dir = join(root, "data");
  for (const path of ["", "objects", "kept", "plugins", "worker"]) {
    mkdirSync(join(dir, path), { recursive: true });
    chmodSync(join(dir, path), 0o755);
  }
  for (const name of ["flotilla.db", "flotilla.db-wal", "flotilla.db-shm"]) {
    writeFileSync(join(dir, name), "x");
    chmodSync(join(dir, name), 0o644);
  }
  writeFileSync(join(root, "outside"), "x");
  chmodSync(join(root, "outside"), 0o644);
  symlinkSync(join(root, "outside"), join(dir, "link"));
  return dir;
}

test("one that an earlier version made is closed at the start, once, and the log says what was changed", () => {
  const dir = openInstallation();
  const lines: Record<string, unknown>[] = [];
  const log = createLog("info", (line) => lines.push(JSON.parse(line)));
  openDataDir(dir, { lets_through: false, log });
  openDataDir(dir, { lets_through: false, log });
  expect(["", "objects", "kept"].map((name) => modeOf(join(dir, name)))).toEqual([
    "700",
    "700",
    "700",
  ]);
  expect(
    ["flotilla.db", "flotilla.db-wal", "flotilla.db-shm"].map((n) => modeOf(join(dir, n))),
  ).toEqual([...["600", "600", "600"]]);
  expect(modeOf(join(root, "outside"))).toBe("644");
  expect(lines.length).toBe(1);
  expect(lines[0]?.changed).toContainEqual({
    path: join(dir, "flotilla.db"),
    from: "0644",
    to: "0600",
  });
});

test("a database and a store of an earlier version that lie elsewhere are closed too, also behind a link", async () => {
  const elsewhere = join(root, "elsewhere");
  mkdirSync(join(elsewhere, "objects"), { recursive: true });
  chmodSync(join(elsewhere, "objects"), 0o755);
  const file = join(elsewhere, "hub.db");
  await (await openDb(`sqlite:${file}`, { log: silentLog })).close();
  chmodSync(file, 0o644);
  symlinkSync(join(elsewhere, "objects"), join(root, "objects"));
  const env = { SVC_DB_URL: `sqlite:${file}`, SVC_OBJECTS_URL: `file:${join(root, "objects")}` };
  const hub = await startTestHub({ alone: true, env });
  try {
    expect([file, `${file}-wal`, join(elsewhere, "objects")].map(modeOf)).toEqual([
      ...["600", "600", "700"],
    ]);
  } finally {
    await hub.close();
  }
}, 180_000);

test("a worker's data directory, and what it makes there, is for its user alone", async () => {
  const before = process.umask(0);
  const dir = join(root, "worker");
  for (const path of ["", "profiles", "versions"]) {
    mkdirSync(join(dir, path), { recursive: true });
    chmodSync(join(dir, path), 0o755);
  }
  try {
    const program = startProgram([...PROGRAM, "worker"], {
      env: {
        SVC_DATA_DIR: dir,
        SVC_WORKER_ID: "w1",
        SVC_CONTROL_URL: `http://127.0.0.1:${freePort()}`,
      },
    });
    await until("the worker to have its directory", 60_000, () =>
      existsSync(join(dir, "pipeline/owner")),
    );
    program.kill("SIGTERM");
    await program.exited;
    const open = readdirSync(dir, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => [name, modeOf(join(dir, name))]);
    expect(open).toEqual(expect.arrayContaining([["pipeline", "700"]]));
    expect(open.filter(([, mode]) => mode !== "700")).toEqual([]);
    expect(modeOf(dir)).toBe(process.getuid?.() === 0 ? "711" : "700");
  } finally {
    process.umask(before);
  }
}, 300_000);

test("where lanes of another user lie below, that user gets through, and sees nothing", () => {
  const dir = openInstallation();
  openDataDir(dir, { lets_through: true, log: silentLog });
  expect(modeOf(dir)).toBe("711");
  mkdirSync(join(dir, "lanes"));
  openDataDir(dir, { lets_through: false, log: silentLog });
  expect(modeOf(dir)).toBe("711");
  expect(modeOf(join(dir, "flotilla.db"))).toBe("600");
});
