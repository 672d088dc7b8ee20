import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { liveConfig } from "#hub/program/live-config.ts";
import { loadConfig } from "#hub/program/variables/load.ts";
import { createReloader } from "#hub/program/variables/reload.ts";
import { inEmptyDir } from "#test/support/rigs/program.ts";

test("a live configuration is read through, and copies are of their moment", () => {
  const live = liveConfig({ a: 1, b: { c: 2 } });
  const copy = { ...live.config };
  live.replace({ a: 3, b: { c: 4 } });
  expect([live.config.a, live.config.b.c, copy.a]).toEqual([3, 4, 1]);
  expect(() => Object.assign(live.config, { a: 5 })).toThrow();
});

test("what counts at the start alone keeps its value, and is named at every reload", () =>
  inEmptyDir(async (dir) => {
    const path = join(dir, "c.toml");
    const write = (port: number, wait: string) =>
      writeFileSync(path, `SVC_PORT = ${port}\nSVC_SUBMIT_WAIT_S = "${wait}"\n`);
    write(8000, "8");
    const sources = { env: {}, flags: { SVC_CONFIG: path } };
    const started = loadConfig("hub", sources);
    const live = liveConfig(started.config);
    const reloader = createReloader("hub", sources, started);
    expect(reloader.reload(live.replace)).toEqual({ changed: [], needs_restart: [], warnings: [] });

    write(9000, "2");
    const told = reloader.reload(live.replace);
    expect(told.changed).toEqual(["SVC_SUBMIT_WAIT_S: 8 → 2"]);
    expect(told.needs_restart).toEqual(["SVC_PORT: 8000 → 9000"]);
    expect([live.config.port, live.config.submit_wait_ms]).toEqual([8000, 2_000]);
    expect(reloader.reload(live.replace)).toMatchObject({
      changed: [],
      needs_restart: ["SVC_PORT: 8000 → 9000"],
    });

    write(99_999, "3");
    expect(() => reloader.reload(live.replace)).toThrow(/SVC_PORT/);
    expect(live.config.submit_wait_ms).toBe(2_000);
  }));

test("what could not be taken is tried again by the next reload", () =>
  inEmptyDir(async (dir) => {
    const path = join(dir, "c.toml");
    writeFileSync(path, "");
    const sources = { env: {}, flags: { SVC_CONFIG: path } };
    const started = loadConfig("worker", sources);
    const reloader = createReloader("worker", sources, started);
    writeFileSync(path, 'SVC_LOG_LEVEL = "debug"\n');
    const refuse = () => {
      throw new Error("not now");
    };
    expect(() => reloader.reload(refuse)).toThrow("not now");
    expect(reloader.reload(() => {}).changed).toEqual(["SVC_LOG_LEVEL: unset → debug"]);
  }));
