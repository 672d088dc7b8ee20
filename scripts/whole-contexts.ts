import { join } from "node:path";
import { Glob } from "bun";

/**
 * How many parameters of the program are a whole context. A function that needs few of its fields names them, so these
 * numbers only fall.
 */
const MOST: Readonly<Record<string, number>> = { FleetContext: 47, PipelineContext: 10 };

/** Parameters of `source` that are the whole `context` or give it: by name, or taken apart. */
export const countWhole = (source: string, context: string): number =>
  [...source.matchAll(new RegExp(`[\\w}]: (\\(\\) => )?${context}(?=[,)])`, "g"))].length;

/** What is above its limit, and what has fallen below it. */
export function judgeWhole(
  found: Readonly<Record<string, number>>,
  most: Readonly<Record<string, number>>,
): string[] {
  const problems: string[] = [];
  for (const [context, limit] of Object.entries(most)) {
    const count = found[context] ?? 0;
    const told = `${count} parameters are a whole ${context}`;
    if (count > limit)
      problems.push(`${told}, at most ${limit}: name its fields, as Pick<${context}, "db">`);
    if (count < limit) problems.push(`${told}: lower the limit of ${limit} in whole-contexts.ts`);
  }
  return problems;
}

/** Every violation below `root`, one line each. */
export async function checkContexts(root: string): Promise<string[]> {
  const found: Record<string, number> = {};
  for await (const file of new Glob("hub/**/*.ts").scan(root)) {
    const source = await Bun.file(join(root, file)).text();
    for (const context of Object.keys(MOST))
      found[context] = (found[context] ?? 0) + countWhole(source, context);
  }
  return judgeWhole(found, MOST);
}
