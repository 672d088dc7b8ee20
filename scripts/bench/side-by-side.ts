import { existsSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { z } from "zod";
import { ROOT } from "../build.ts";
import { statsOf } from "./harness.ts";

/**
 * `bun scripts/bench/side-by-side.ts DIR NAME… [--rounds N] [--runs N]`: the named benchmarks of another version's
 * checkout, built, beside those of this one, round by round, so that a slow minute hits both. Prints the ratio of each
 * figure that both have: the median over the rounds, with the least and the most.
 */

/** The longest that one benchmark may take. */
const BENCH_MS = 20 * 60_000;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: "string", default: "3" }, runs: { type: "string", default: "5" } },
});
const [before, ...names] = positionals;
const rounds = Number(values.rounds);
if (before === undefined || names.length === 0 || !(rounds >= 1)) {
  console.error("usage: bun scripts/bench/side-by-side.ts DIR NAME… [--rounds N] [--runs N]");
  process.exit(2);
}
for (const dir of [before, ROOT])
  if (!existsSync(join(dir, "dist/flotilla"))) {
    console.error(`${dir} is not built: run ./scripts/build there`);
    process.exit(2);
  }

const FigureLine = z.object({
  bench: z.string(),
  metric: z.string(),
  value: z.string(),
  ratio: z.number().nullish(),
});

/** What is compared of a figure: the first number of its value, and its ratio to its own reference. */
interface Measured {
  value: number;
  ratio: number | null;
}

/** `p50 0.70 ms`: the number is 0.70. */
const FIRST_NUMBER = /(?<![\w.])-?\d[\d,]*(\.\d+)?/;

/** By benchmark and metric, without what its brackets count. */
async function measure(dir: string, name: string): Promise<Map<string, Measured>> {
  const child = Bun.spawn([process.execPath, "scripts/bench/run.ts", name, "--runs", values.runs], {
    cwd: dir,
    stdout: "pipe",
    stderr: "inherit",
    timeout: BENCH_MS,
  });
  const text = await child.stdout.text();
  // One that does not run in the other version must not cost the figures of those that do.
  if ((await child.exited) !== 0) console.error(`${name} failed in ${dir}`);
  const lines = text.split("\n").filter((line) => line.startsWith("{"));
  return new Map(
    lines.map((line) => {
      const { bench, metric, value, ratio } = FigureLine.parse(JSON.parse(line));
      const number = FIRST_NUMBER.exec(value)?.[0].replaceAll(",", "") ?? "";
      return [
        `${bench}: ${metric.replace(/ ?\([^)]*\)/g, "")}`,
        { value: Number.parseFloat(number), ratio: ratio ?? null },
      ];
    }),
  );
}

/** For each figure, what each round measured before and now. */
const found = new Map<string, { before: Measured; now: Measured }[]>();
const alone = new Set<string>();

for (let round = 0; round < rounds; round++)
  for (const name of names) {
    const turns = [before, ROOT];
    if (round % 2 === 1) turns.reverse();
    const measured = new Map<string, Map<string, Measured>>();
    for (const dir of turns) measured.set(dir, await measure(dir, name));
    const [then, now] = [measured.get(before), measured.get(ROOT)];
    for (const key of new Set([...(then?.keys() ?? []), ...(now?.keys() ?? [])])) {
      const pair = { before: then?.get(key), now: now?.get(key) };
      if (pair.before === undefined || pair.now === undefined) alone.add(key);
      else found.set(key, [...(found.get(key) ?? []), { before: pair.before, now: pair.now }]);
      console.log(JSON.stringify({ round, figure: key, ...pair }));
    }
  }

const short = (n: number): string => Number(n.toPrecision(3)).toLocaleString("en");
const show = (of: number[]): string => {
  const { median, min, max } = statsOf(of);
  return `${short(median)} (${short(min)}–${short(max)})`;
};
const ratios = (of: (Measured["ratio"] | undefined)[]): string => {
  const numbers = of.filter((ratio): ratio is number => typeof ratio === "number");
  return numbers.length === 0 ? "–" : statsOf(numbers).median.toFixed(2);
};
console.log("\n| figure | before | now | now / before | to its reference before | now |");
console.log("| --- | --- | --- | --- | --- | --- |");
for (const [key, pairs] of found) {
  const then = pairs.map(({ before: { value } }) => value);
  const now = pairs.map(({ now: { value } }) => value);
  const quotients = now.map((value, i) => value / (then[i] ?? Number.NaN));
  const cells = [
    key,
    show(then),
    show(now),
    show(quotients),
    ratios(pairs.map(({ before: { ratio } }) => ratio)),
    ratios(pairs.map(({ now: { ratio } }) => ratio)),
  ];
  console.log(`| ${cells.join(" | ")} |`);
}
if (alone.size > 0) console.log(`\nin one version only: ${[...alone].join("; ")}`);
