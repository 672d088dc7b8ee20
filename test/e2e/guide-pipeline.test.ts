import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { processesOf, until } from "#test/support/rigs/fleet-process.ts";
import { PROGRAM, type Program, runProgram, startProgram } from "#test/support/rigs/program.ts";
import { lanePorts } from "#test/support/servers/ports.ts";

/** The pipeline's first commands of the guide, as they stand there, against dev mode as a newcomer starts it. */

const ROOT = join(import.meta.dir, "../..");

let dir: string;
let dev: Program;
let url: string;
/** Blocks of shell commands of the page. */
let blocks: string[];

beforeAll(async () => {
  const page = await Bun.file(join(ROOT, "hub/guide/start/first-workload.md")).text();
  blocks = [...page.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block]) => block ?? "");
  dir = mkdtempSync(join(tmpdir(), "flotilla-guide-"));
  dev = startProgram([...PROGRAM, "dev", "--port", "0", "--lanes", "1", "--headless-lanes"], {
    cwd: dir,
    env: { FLOTILLA_TEST: dir, ...lanePorts() },
  });
  url = await until("the banner", 120_000, () => /http:\/\/127\.0\.0\.1:\d+/.exec(dev.stdout)?.[0]);
}, 180_000);
afterAll(async () => {
  dev?.kill("SIGTERM");
  await dev?.exited;
  await until("the end of every process", 60_000, () =>
    processesOf(dir).every((p) => p.state === "Z"),
  );
  rmSync(dir, { recursive: true, force: true });
}, 180_000);

const run = (commands: string) =>
  runProgram(
    ["bash", "-euo", "pipefail", "-c", `flotilla() { ${PROGRAM.join(" ")} "$@"; }\n${commands}`],
    // A is what the first block exports.
    { cwd: dir, env: { H: url, A: `${url}/api/v1`, SVC_HUB: url } },
  );

test("the typical flow with curl: 10,000 tasks are submitted, drain under live counts, and have outputs (rules/pipeline-overview#the-usual-client)", async () => {
  const { code, stdout, stderr } = await run(blocks[0] ?? "exit 99");
  expect({ code, stderr: code === 0 ? "" : stderr + dev.stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toContain('{"submitted":10000,"duplicates":0,"pks_rejected":[]}');
  const counts = [...stdout.matchAll(/\{"pending":(\d+),/g)].map(([, pending]) => Number(pending));
  expect(counts.at(-1)).toBe(0);
  expect(counts.toSorted((a, b) => b - a)).toEqual(counts);
  const [run1] = JSON.parse(/\{"runs":.*(?=\{"reset")/s.exec(stdout)?.[0] ?? "{}").runs;
  expect(run1).toMatchObject({ workload: "words", success: true, output_json: { words: 7 } });
  expect(stdout).toEndWith('{"reset":0}');
}, 300_000);

test("the same from the command line, with plain progress and exit code 0", async () => {
  const { code, stdout, stderr } = await run(blocks[1] ?? "exit 99");
  expect({ code, stderr: code === 0 ? "" : stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toContain("10,000 tasks submitted; 0 pending, 0 claimed, 0 failed");
  expect(stdout).toMatch(/words +0 +0 +0 +0/);
  expect(stdout.match(/line-\d+ +1 +success/g)).toHaveLength(5);
  expect(stderr).toContain("10,000 of 10,000 done");
}, 300_000);
