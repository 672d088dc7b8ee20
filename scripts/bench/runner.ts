import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createScriptRig, type ScriptRig } from "#test/support/rigs/script-rig.ts";
import { type Bench, statsOf, timed } from "./harness.ts";

const HEAD = 'import { session } from "flotilla";\n';
const p50p95 = (values: number[]) => {
  const { median, p95, n } = statsOf(values);
  return `p50 ${median.toFixed(2)} ms, p95 ${p95.toFixed(2)} ms (n=${n})`;
};

/** From the start of a sandbox to its script's first action, against a plain run of an empty script by the same runtime. */
async function measureStarts(rig: ScriptRig, samples: number) {
  const dir = await mkdtemp(join(tmpdir(), "flotilla-bench-runner-"));
  const empty = join(dir, "empty.ts");
  await writeFile(empty, "");
  const [starts, plain]: [number[], number[]] = [[], []];
  try {
    // Alternated, so that a noisy moment hits both; the first pair finds out whether the sandbox works.
    for (let i = -1; i < samples; i += 1) {
      const { end, detail, first_action_ms } = await rig.run(`${HEAD}await session.text();`);
      if (first_action_ms === null) throw new Error(`the script ended as ${end}: ${detail}`);
      const env = { ...process.env, BUN_BE_BUN: "1" };
      const other = await timed(() => Bun.spawn([process.execPath, "run", empty], { env }).exited);
      if (i < 0) continue;
      starts.push(first_action_ms);
      plain.push(other.ms);
    }
  } finally {
    await rm(dir, { recursive: true });
  }
  return { starts, plain };
}

/** What an action costs beyond what it does: here it does nothing; against a call of a function that does nothing. */
async function measureCalls(rig: ScriptRig, samples: number) {
  const code = `${HEAD}
const ours: number[] = [], direct: number[] = [];
const nothing = async () => null;
for (let i = -100; i < ${samples}; i += 1) {
  const a = performance.now();
  await session.text();
  const b = performance.now();
  await nothing();
  const c = performance.now();
  if (i < 0) continue;
  ours.push(b - a);
  direct.push(c - b);
}
export default { ours, direct };`;
  const { end, detail, result } = await rig.run(code);
  if (end !== "ok") throw new Error(`the script ended as ${end}: ${detail}`);
  return result as { ours: number[]; direct: number[] };
}

/** The sandbox of scripts, with the real runner and a door behind which nothing is done. */
export const runner: Bench = async ({ runs, tiny }) => {
  const rig = createScriptRig();
  try {
    const { starts, plain } = await measureStarts(rig, tiny ? 3 : Math.max(30, runs * 10));
    const { ours, direct } = await measureCalls(rig, tiny ? 100 : 1_500);
    return [
      {
        bench: "runner",
        metric: "start of a sandbox → first action of its script",
        value: p50p95(starts),
        reference: `bun run of an empty script until its end: ${p50p95(plain)}`,
        ratio: statsOf(starts).median / statsOf(plain).median,
        target: "p50 ≤ 150 ms",
        raw: { starts, plain },
      },
      {
        bench: "runner",
        metric: "a call through the door",
        value: p50p95(ours),
        reference: `a function in the script: ${p50p95(direct)}`,
        target: "≤ 2 ms",
        raw: { ours: statsOf(ours), direct: statsOf(direct) },
      },
    ];
  } finally {
    rig.close();
  }
};
