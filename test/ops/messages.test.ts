import { describe, expect, test } from "bun:test";
import { chmodSync, chownSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { asNobody, binaryRig } from "#test/support/rigs/binary.ts";
import { inEmptyDir } from "#test/support/rigs/program.ts";
import { freePort, lanePorts } from "#test/support/servers/ports.ts";

/** What the program says when it cannot start or do its work: the place, the cause, and what to do. */

const flotilla = binaryRig();
const is_root = process.getuid?.() === 0;
/** A start on a busy machine. */
const SLOW_MS = 120_000;
const HUB = ["hub", "--host", "127.0.0.1", "--port", "0"];

/** Its one line. */
async function refusalOf(args: string[], env: Record<string, string>, dir: string) {
  const { code, stderr } = await flotilla.run(args, { cwd: dir, env });
  const lines = stderr.trimEnd().split("\n");
  return { code, said: lines.filter((line) => line.startsWith("flotilla: ")).join("\n") };
}

test("a password that is too short is refused in plain words", () =>
  inEmptyDir(async (dir) => {
    expect(await refusalOf(HUB, { SVC_ADMIN_PASSWORD: "short" }, dir)).toEqual({
      code: 2,
      said: "flotilla: SVC_ADMIN_PASSWORD: must be at least 12 characters long, not 5",
    });
  }));

describe("what cannot be reached at the start is no bad value: the exit code is 69, and 2 for what is refused", () => {
  const away = () => `127.0.0.1:${freePort()}`;
  const database = () => `postgres://u:hunter2@${away()}/x`;
  const rows: [string, () => Record<string, string>, string][] = [
    ["Postgres", () => ({ SVC_DB_URL: database() }), "SVC_DB_URL: cannot use the Postgres"],
    [
      "the bucket",
      () => ({
        SVC_OBJECTS_URL: `s3://bucket?endpoint=http://${away()}`,
        S3_ACCESS_KEY_ID: "a",
        S3_SECRET_ACCESS_KEY: "hunter2",
      }),
      "SVC_OBJECTS_URL: cannot use bucket bucket",
    ],
  ];
  for (const [what, env, says] of rows)
    test(`${what} is away`, () =>
      inEmptyDir(async (dir) => {
        const { code, said } = await refusalOf(HUB, env(), dir);
        expect(said).toStartWith(`flotilla: ${says}`);
        expect(said).not.toContain("hunter2");
        expect(code).toBe(69);
      }));

  test("a value that no start could use stays 2", () =>
    inEmptyDir(async (dir) => {
      const { code, said } = await refusalOf(HUB, { SVC_OBJECTS_URL: "ftp://x" }, dir);
      expect({ code, said }).toMatchObject({ code: 2, said: expect.stringContaining("ftp://x") });
    }));
});

describe("an address that the program cannot have is told with what to do", () => {
  test("a port that another program has", () =>
    inEmptyDir(async (dir) => {
      using other = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() });
      const args = ["hub", "--host", "127.0.0.1", "--port", String(other.port)];
      const { code, said } = await refusalOf(args, {}, dir);
      expect(said).toStartWith(`flotilla: --port: cannot listen on 127.0.0.1:${other.port}: `);
      expect(said).toContain(
        "another program has this port, perhaps Flotilla itself: end it, or choose another port",
      );
      expect(code).toBe(2);
    }));

  test("a port that is for root", () =>
    inEmptyDir(async (dir) => {
      if (is_root) chownSync(dir, 65_534, 65_534);
      // A container may give these ports to everybody, which is a setting of its network; a new one has the kernel's.
      const own_network = ["unshare", "--net", ...(is_root ? [] : ["--map-current-user"]), "--"];
      const hub = flotilla.start(["hub", "--host", "0.0.0.0", "--port", "1"], {
        cwd: dir,
        env: { HOME: dir, TMPDIR: dir },
        prefix: [...own_network, ...asNobody()],
      });
      expect(await flotilla.exitCode(hub)).toBe(2);
      expect(hub.stderr).toContain(
        "flotilla: --port: cannot listen on 0.0.0.0:1: ports below 1024 are for root: choose another port",
      );
    }));

  test("an address that the machine does not have", () =>
    inEmptyDir(async (dir) => {
      // RFC 5737 keeps it for documents.
      const args = ["hub", "--host", "192.0.2.1", "--port", "0"];
      const { code, said } = await refusalOf(args, {}, dir);
      expect(said).toContain("this machine does not have that address");
      expect(code).toBe(2);
    }));
});

describe("a database that cannot be opened is told with its cause", () => {
  /** As nobody, with a data directory that `prepare` fills; nobody's own where it changes nothing. */
  const refusedIn = (prepare: (data: string) => void) =>
    inEmptyDir(async (dir) => {
      const data = join(dir, "data");
      mkdirSync(data);
      if (is_root) for (const path of [dir, data]) chownSync(path, 65_534, 65_534);
      prepare(data);
      const env = { HOME: dir, TMPDIR: dir, SVC_DATA_DIR: data };
      const hub = flotilla.start(HUB, { cwd: dir, env, prefix: asNobody() });
      const code = await flotilla.exitCode(hub);
      return { code, said: hub.stderr.replaceAll(data, "DATA").trimEnd() };
    });

  test("its owner and rights, and who the program is", async () => {
    const { code, said } = await refusedIn((data) => {
      const file = join(data, "flotilla.db");
      writeFileSync(file, "");
      chmodSync(file, is_root ? 0o600 : 0o000);
    });
    expect(said).toContain("cannot open DATA/flotilla.db: DATA/flotilla.db belongs to user");
    expect(said).toMatch(/this process is user \d+ \([a-z]+\), who may not write it: chown it/);
    expect(code).toBe(2);
  });

  test("a directory in its place", async () => {
    const { code, said } = await refusedIn((data) => mkdirSync(join(data, "flotilla.db")));
    expect(said).toContain("cannot open DATA/flotilla.db: it is a directory");
    expect(code).toBe(2);
  });

  test("a file that is no database, with the way back", async () => {
    const { said } = await refusedIn((data) => {
      const file = join(data, "flotilla.db");
      writeFileSync(file, "x".repeat(8_192));
      if (is_root) chownSync(file, 65_534, 65_534);
    });
    expect(said).toContain("the file is damaged, or is not Flotilla's; flotilla restore FILE");
  });
});

test("a data directory that another hub uses is free later: 69, as for what is away", () =>
  inEmptyDir(async (dir) => {
    const hub = () => flotilla.start([...HUB, "--data-dir", join(dir, "data")], { cwd: dir });
    const first = hub();
    await first.says("hub started", SLOW_MS);
    const second = hub();
    expect(await flotilla.exitCode(second)).toBe(69);
    expect(second.stderr).toMatch(
      /^flotilla: SVC_DB_URL: .*flotilla\.db is in use by another hub or control plane; several need Postgres, and several hubs SVC_REDIS_URL too$/m,
    );
    const admin = flotilla.start(["admin", "reset-password", "--data-dir", join(dir, "data")], {
      cwd: dir,
    });
    expect(await flotilla.exitCode(admin)).toBe(69);
    first.kill("SIGTERM");
    expect(await flotilla.exitCode(first)).toBe(0);
  }));

/** A file system of `size` at `dir`, for the command line alone that follows. */
const small = (dir: string, size: string, how = "") => [
  ...["unshare", "--mount", "--", "sh", "-c"],
  `mount -t tmpfs -o size=${size}${how} none "$0" && exec "$@"`,
  dir,
];

test("a full disk is told with its directory, what is needed and what is free", () =>
  inEmptyDir(async (dir) => {
    expect((await flotilla.run(["migrate"], { cwd: dir })).code).toBe(0);
    const out = join(dir, "out");
    mkdirSync(out);
    const backup = flotilla.start(["backup", out], { cwd: dir, prefix: small(out, "64k") });
    expect(await flotilla.exitCode(backup)).toBe(1);
    expect(backup.stderr).toMatch(
      /^flotilla: .*\/out: the disk is full: needs up to [\d.]+ [kM]B, has [\d.]+ [kM]B free\n$/,
    );
    const data = join(dir, "full");
    mkdirSync(data);
    const hub = flotilla.start([...HUB, "--data-dir", data], {
      cwd: dir,
      prefix: small(data, "64k"),
    });
    expect(await flotilla.exitCode(hub)).toBe(69);
    expect(hub.stderr).toContain(`the disk of ${data} is full`);
  }));

test("a read-only file system is named", () =>
  inEmptyDir(async (dir) => {
    const data = join(dir, "data");
    mkdirSync(data);
    const hub = flotilla.start(
      [...HUB, "--db-url", `sqlite:${data}/x.db`, "--data-dir", join(dir, "more")],
      { cwd: dir, prefix: small(data, "1m", ",ro") },
    );
    expect(await flotilla.exitCode(hub)).toBe(2);
    expect(hub.stderr).toContain(`${data} is on a file system that is mounted read-only`);
  }));

test("a worker names at once all that its machine lacks, and the doctor", () =>
  inEmptyDir(async (dir) => {
    const env = { PATH: dir, ...lanePorts() };
    const args = ["worker", "--hub-url", "ws://127.0.0.1:1"];
    const { code, said } = await refusalOf(args, env, dir);
    expect(code).toBe(3);
    expect(said).toContain(
      "apt-get install chromium chromium-sandbox tigervnc-standalone-server fontconfig fonts-liberation",
    );
    expect(said).toContain("flotilla doctor worker");
  }));
