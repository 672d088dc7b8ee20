import { describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { z } from "zod";
import { DeadlineError, withDeadline } from "#shared/kit/clock.ts";
import {
  ConfigError,
  flag,
  integer,
  list,
  optionalText,
  parseEnv,
  seconds,
} from "#shared/kit/env.ts";
import { createLog, silentLog } from "#shared/kit/log.ts";
import { startLoop } from "#shared/kit/loop.ts";
import { createScope } from "#shared/kit/scope.ts";
import { counted, humanSize } from "#shared/kit/words.ts";
import { newJobId, newSessionId, workerIdFromAddress } from "#shared/protocol/ids.ts";
import { withScheme } from "#shared/protocol/missing-scheme.ts";
import { isSafeName } from "#shared/protocol/names.ts";
import { hashSources } from "#shared/protocol/version.ts";

describe("environment variables", () => {
  const Env = z.object({
    COUNT: integer(2, 1, 10),
    WAIT_S: seconds(1.5),
    ON: flag(false),
    NAMES: list(),
    SECRET: optionalText(),
  });

  test("blank means unset", () => {
    expect(parseEnv(Env, { COUNT: "", WAIT_S: "  ", SECRET: "" })).toEqual({
      COUNT: 2,
      WAIT_S: 1_500,
      ON: false,
      NAMES: [],
    });
  });

  test("seconds become milliseconds once", () => {
    expect(parseEnv(Env, { WAIT_S: "0.25" }).WAIT_S).toBe(250);
  });

  test("a bad value names every bad variable", () => {
    const parse = () => parseEnv(Env, { COUNT: "two", ON: "maybe" });
    expect(parse).toThrow(ConfigError);
    expect(parse).toThrow('COUNT: "two" is not a number\nON: "maybe" is not 0 or 1');
    expect(() => parseEnv(Env, { COUNT: "11" })).toThrow(/^COUNT: /);
  });
});

describe("ids", () => {
  test("a worker id is w and the last two octets written one after the other (rules/workers#worker-id)", () => {
    expect(workerIdFromAddress("192.168.1.23")).toBe("w123");
    expect(workerIdFromAddress("10.0.12.3")).toBe("w123");
    expect(() => workerIdFromAddress("fe80::1")).toThrow("not an IPv4 address");
  });

  test("a session id is URL-safe and carries at least 128 bits (rules/sessions#session-id)", () => {
    const id = newSessionId();
    expect(id).toMatch(/^[A-Za-z0-9_-]{22}$/);
    expect(22 * 6).toBeGreaterThanOrEqual(128);
    expect(new Set(Array.from({ length: 2_000 }, newSessionId)).size).toBe(2_000);
    expect(newJobId()).toMatch(/^[a-z0-9]{14}$/);
  });
});

describe("names and sizes", () => {
  for (const name of ["a.png", "führer-übung.txt", "a b.html", "x".repeat(180)])
    test(`${name.slice(0, 30)} is a safe name`, () => expect(isSafeName(name)).toBe(true));
  for (const name of [
    "",
    ".",
    "..",
    "../x",
    "a/b",
    "a\\b",
    "a\u0000",
    "con",
    "NUL.txt",
    ".hidden",
    "a.",
    "a ",
    "x".repeat(181),
  ])
    test(`${JSON.stringify(name.slice(0, 20))} is not`, () => expect(isSafeName(name)).toBe(false));

  test("no safe name leaves its folder, whatever it is made of", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (name) => {
        if (!isSafeName(name)) return;
        expect(join("/folder", name)).toBe(`/folder/${name}`);
      }),
    );
  }, 180_000);

  test("sizes are written for people, by thousands", () => {
    const sizes = [0, 999, 1_000, 1_500, 99_940, 388_600, 999_949, 999_950, 3e15];
    expect(sizes.map(humanSize)).toEqual([
      "0 B",
      "999 B",
      "1.0 kB",
      "1.5 kB",
      "99.9 kB",
      "389 kB",
      "1.0 MB",
      "1.0 MB",
      "3000 TB",
    ]);
  });

  test("one of something is not many of it", () => {
    const said = [counted(0, "file"), counted(1, "file"), counted(2n, "body", "bodies")];
    expect(said).toEqual(["0 files", "1 file", "2 bodies"]);
  });
});

describe("lifecycle", () => {
  test("a scope closes in reverse order, once, and past a closer that fails", async () => {
    const closed: string[] = [];
    const scope = createScope(silentLog);
    scope.add("db", 1, () => closed.push("db"));
    scope.add("bad", 2, () => Promise.reject(new Error("no")));
    scope.add("server", 3, () => closed.push("server"));
    await Promise.all([scope.close(), scope.close()]);
    expect(closed).toEqual(["server", "db"]);
  });

  test("a loop survives a failing pass, never overlaps and stops while it sleeps", async () => {
    let passes = 0;
    const twice = Promise.withResolvers<void>();
    const loop = startLoop({
      name: "test",
      everyMs: 1,
      clock: {
        now: () => 0,
        monotonic: () => 0,
        // A sleep that lasts until it is aborted after the second pass.
        sleep: (_, signal) =>
          passes < 2
            ? Promise.resolve()
            : new Promise((resolve) => signal?.addEventListener("abort", () => resolve())),
      },
      log: silentLog,
      pass: async () => {
        passes += 1;
        if (passes === 2) twice.resolve();
        throw new Error("a bad pass");
      },
    });
    await twice.promise;
    await loop.stop();
    await loop.stop();
    expect(passes).toBe(2);
  });

  test("a deadline names what was late", async () => {
    const late = withDeadline("the answer", 1, new Promise(() => {}));
    await expect(late).rejects.toThrow(new DeadlineError("the answer", 1).message);
    expect(await withDeadline("the answer", 1_000, Promise.resolve(42))).toBe(42);
  });

  test("a log line carries its bound fields and an error with its stack", () => {
    const lines: string[] = [];
    const log = createLog("info", (line) => lines.push(line)).child({ job_id: "j1" });
    log.debug({}, "left out");
    log.error({ err: new Error("broken") }, "job failed");
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({
      level: "error",
      job_id: "j1",
      message: "job failed",
      err: { message: "broken" },
    });
  });
});

describe("version (rules/updates#versions)", () => {
  test("is the hash of path, zero byte and content over the sorted sources, and nothing else", () => {
    const root = mkdtempSync(join(tmpdir(), "flotilla-version-"));
    try {
      for (const dir of ["drizzle", "hub", "shared", "worker/link"])
        mkdirSync(join(root, dir), { recursive: true });
      writeFileSync(join(root, "hub/b.ts"), "b");
      writeFileSync(join(root, "worker/link/a.tsx"), "a");
      const expected = new Bun.CryptoHasher("sha256")
        .update("hub/b.ts\0b")
        .update("worker/link/a.tsx\0a")
        .digest("hex")
        .slice(0, 12);
      expect(hashSources(root)).toBe(expected);
      writeFileSync(join(root, "hub/notes.md"), "no source");
      writeFileSync(join(root, "hub/.hidden.ts"), "hidden");
      expect(hashSources(root)).toBe(expected);
      writeFileSync(join(root, "hub/b.ts"), "changed");
      expect(hashSources(root)).not.toBe(expected);
    } finally {
      rmSync(root, { recursive: true });
    }
  });
});

describe("a URL without a scheme", () => {
  for (const [raw, meant] of [
    ["example.com", "https://example.com"],
    ["sub.example.com/a?b=1#c", "https://sub.example.com/a?b=1#c"],
    ["example.com:443/", "https://example.com:443/"],
    ["example.com:8080/x", "http://example.com:8080/x"],
    ["localhost", "http://localhost"],
    ["localhost:8080/x", "http://localhost:8080/x"],
    ["app.localhost", "http://app.localhost"],
    ["10.0.0.1", "http://10.0.0.1"],
    ["[::1]:80/", "http://[::1]:80/"],
    ["printer:631", "http://printer:631"],
    ["münchen.example", "https://münchen.example"],
    ["nothing", null],
    ["jobs/abc", null],
    ["mailto:a@b.example", null],
    ["javascript:alert(1)", null],
    ["localhost:99999", null],
    ["a b.example", null],
    ["user@example.com", null],
    ["1.5", null],
    [`example.com/${"a".repeat(1_000)}`, null],
  ] as const)
    test(`${raw.slice(0, 40)} was meant as ${meant}`, () => expect(withScheme(raw)).toBe(meant));
});
