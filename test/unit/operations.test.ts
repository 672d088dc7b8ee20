import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runCommand } from "#hub/pipeline/operations/run-command.ts";
import { createThrottle, type Throttle } from "#hub/platform/access/throttle.ts";
import { loadHubConfig } from "#hub/platform/config.ts";
import { createMemoryKv } from "#hub/platform/stores/kv-memory.ts";
import { createEnds } from "#shared/kit/ends.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

describe("output of a program", () => {
  test("short output is whole, whatever the pieces and wherever they cut a character", () => {
    const output = createEnds(10);
    for (const byte of bytes("héllo wörld ✓✓")) output.push(Uint8Array.of(byte));
    expect(output.text()).toBe("héllo wörld ✓✓");
  });

  test("of long output the beginning and the end are kept, and the line between them counts the rest", () => {
    for (const size of [1, 7, 1_000]) {
      const output = createEnds(10);
      const text = Array.from({ length: 100 }, (_, i) => `${i}`.padStart(5, "0")).join("");
      for (let at = 0; at < text.length; at += size) output.push(bytes(text.slice(at, at + size)));
      expect(output.text()).toBe("0000000001\n[… 480 bytes left out …]\n0009800099");
    }
  });
});

describe("throttle of wrong passwords (rules/access#wrong-passwords)", () => {
  const setUp = () => {
    const clock = createFakeClock();
    const kv = createMemoryKv(clock);
    return { clock, kv, throttle: createThrottle(kv, clock) };
  };
  const take = async (throttle: Throttle, times: number) => {
    for (let i = 0; i < times; i += 1) await throttle.take("a");
  };

  test("five are free, then the wait before the next doubles from a second to a minute", async () => {
    const { clock, throttle } = setUp();
    const waits: number[] = [];
    for (let i = 0; i < 13; i += 1) {
      const wait = await throttle.take("a");
      waits.push(wait);
      if (wait === 0) continue;
      await clock.advance(wait - 1);
      expect(await throttle.take("a")).toBe(1);
      await clock.advance(1);
      expect(await throttle.take("a")).toBe(0);
    }
    expect(waits).toEqual(
      [0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 60, 60].map((seconds) => seconds * 1_000),
    );
    expect(await throttle.take("b")).toBe(0);
  });

  test("it ends with the right one, and after a quarter of an hour", async () => {
    const { clock, throttle } = setUp();
    await take(throttle, 5);
    expect(await throttle.take("a")).toBe(1_000);
    await throttle.passed("a");
    await take(throttle, 5);
    await clock.advance(15 * 60_000);
    await take(throttle, 4);
    expect(await throttle.take("a")).toBe(0);
  });

  test("processes that share a store share the count: of guesses at all of them at once five are made", async () => {
    const { clock, kv } = setUp();
    const hubs = Array.from({ length: 4 }, () => createThrottle(kv, clock));
    const waits = await Promise.all(
      hubs.flatMap((throttle) => [1, 2, 3].map(() => throttle.take("a"))),
    );
    expect(waits.filter((wait) => wait === 0)).toHaveLength(5);
  });

  test("while the store does not answer nobody may try", async () => {
    const { clock, kv } = setUp();
    const away = () => Promise.reject(new Error("away"));
    const throttle = createThrottle({ ...kv, get: away }, clock);
    await expect(throttle.take("a")).rejects.toMatchObject({ kind: "unavailable" });
  });
});

test("a command that ignores SIGTERM is killed 5 s after its deadline, with all it started", async () => {
  const cwd = mkdtempSync(join(tmpdir(), "flotilla-command-"));
  const clock = createFakeClock();
  const output = createEnds(1_000);
  const ready = Promise.withResolvers<void>();
  const ended = runCommand({
    argv: ["sh", "-c", "trap '' TERM; sleep 60 & echo ready; while :; do wait; done"],
    environment: { PATH: process.env.PATH ?? "" },
    cwd,
    clock,
    timeout_ms: 60_000,
    signal: new AbortController().signal,
    output: {
      push: (chunk) => {
        output.push(chunk);
        ready.resolve();
      },
    },
  });
  await ready.promise;
  await clock.advance(60_000);
  expect(clock.sleepers()).toEqual([5_000]);
  await clock.advance(5_000);
  expect(await ended).toEqual({ exit_code: null, error: "it did not finish within 60 s" });
  expect(output.text()).toBe("ready\n");
  rmSync(cwd, { recursive: true });
});

describe("configuration of deploys", () => {
  const deploy = (SVC_DEPLOY_ARGV: string) => loadHubConfig({ SVC_DEPLOY_ARGV }).deploy.argv;
  test("SVC_DEPLOY_ARGV is words or a JSON list; anything else is refused by name", () => {
    expect(deploy(" /bin/deploy  --now ")).toEqual(["/bin/deploy", "--now"]);
    expect(deploy('["/bin/my deploy", "a b"]')).toEqual(["/bin/my deploy", "a b"]);
    expect(loadHubConfig({}).deploy.argv).toBeNull();
    for (const bad of ["[]", "[1]", '["a"', '["a", null]'])
      expect(() => deploy(bad)).toThrow(/SVC_DEPLOY_ARGV/);
  });

  test("SVC_ADMIN_PASSWORD of less than 12 characters is refused without telling it", () => {
    const load = () => loadHubConfig({ SVC_ADMIN_PASSWORD: "hunter2" });
    expect(load).toThrow(/SVC_ADMIN_PASSWORD/);
    expect(load).not.toThrow(/hunter2/);
  });

  test("an engine's key is a variable that is allowed, and never one of this program's own", () => {
    const env = { MY_API_KEY: "k", OTHER: "o", WORKER_SECRET: "s", PGPASSWORD: "p", HOME: "/root" };
    const keys = (more: Record<string, string> = {}) =>
      ["MY_API_KEY", "NO_API_KEY", "OTHER", "HOME", "WORKER_SECRET", "PGPASSWORD"].map(
        loadHubConfig({ ...env, ...more }).engineKey,
      );
    expect(keys()).toEqual(["k", undefined, null, null, null, null]);
    const all = "OTHER,WORKER_SECRET,PGPASSWORD,*SECRET";
    expect(keys({ SVC_ENGINE_KEY_ENV: all })).toEqual([null, null, "o", null, null, null]);
    for (const bad of ["*", "A-B", "A*", "*A*"])
      expect(() => loadHubConfig({ SVC_ENGINE_KEY_ENV: bad })).toThrow(/SVC_ENGINE_KEY_ENV/);
  });
});
