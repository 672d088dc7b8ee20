import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PATH_WITH_BUN, runProgram } from "#test/support/rigs/program.ts";
import { seededBlocks } from "#test/support/rigs/seeded-blocks.ts";
import { startLlmServer } from "#test/support/servers/llm-server.ts";
import { freePort } from "#test/support/servers/ports.ts";
import { turnsOf } from "#test/support/tasks/play.ts";

/** What the page about benchmarks has its reader run, in the checkout: it takes longer than every run of the tests may. */

const ROOT = join(import.meta.dir, "../..");
const MINUTES = 60_000;

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "flotilla-benchmarks-"));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** Pastes commands into a shell at the root of the checkout, which ends with the first that fails. */
const paste = (commands: string) =>
  runProgram(["bash", "-ec", commands], {
    cwd: ROOT,
    env: { PATH: PATH_WITH_BUN },
  });

test(
  "large bodies and slow ones can be asked for again and again",
  async () => {
    const [commands = ""] = seededBlocks("design/benchmarks.md#the-long-tests", 1);
    const { code, stderr } = await paste(commands);
    expect({ code, failed: stderr.match(/^\(fail\).*$/gm) }).toEqual({ code: 0, failed: null });
    expect(stderr.match(/^ 0 fail$/gm)).toHaveLength(2);
  },
  60 * MINUTES,
);

test(
  "the task set measures a model, and the test engine takes its place",
  async () => {
    const [measure = "", play = ""] = seededBlocks("design/benchmarks.md#measuring-an-engine", 2);
    await using model = await startLlmServer({ script: await turnsOf() });
    const own = measure.replace("http://127.0.0.1:11434/v1", model.url).replace("NAME", "any");
    const measured = await paste(own);
    expect(measured).toMatchObject({ code: 0 });
    expect(measured.stdout).toContain("pass@1 12/12 (100 %), pass@3 12/12 (100 %)");

    const played = play
      .replaceAll("8090", String(freePort()))
      .replaceAll("played.json", join(dir, "played.json"));
    const replayed = await paste(played);
    expect(replayed).toMatchObject({ code: 0 });
    expect(replayed.stdout).toContain("pass@1 9/12 (75 %), pass@3 12/12 (100 %)\n15 attempts");
  },
  60 * MINUTES,
);
