import { expect, test } from "bun:test";
import { join } from "node:path";

const REAPER = join(import.meta.dir, "../support/rigs/subreaper.ts");

test("zombies that fall to the worker as init of a container are collected, its own children are not", async () => {
  const child = Bun.spawn([process.execPath, REAPER], { stdout: "pipe", stderr: "inherit" });
  expect(JSON.parse(await child.stdout.text())).toEqual({ spared: 0, reaped: 1, left: 0 });
  expect(await child.exited).toBe(0);
});
