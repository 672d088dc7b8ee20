import { join } from "node:path";
import { Glob } from "bun";

/**
 * Only these read the environment; everything else gets a config. The runner and the plugins that we bring along are programs of their
 * own, in a task's process; the launcher passes the environment on to the version it starts.
 */
const READERS =
  /^(hub\/main|hub\/platform\/config|worker\/config|worker\/tasks\/bun-runner|hub\/plugins\/crawl\/crawl|worker\/program\/update\/launcher)\.ts$/;
/** In quotes it is a name that a bundler puts a constant in the place of, or part of a program that is written. */
const READS = /(?<![\w"'`])(process|Bun)\.env\b|import\.meta\.env\b/;

/** `file:line` of every read of the environment outside the config files, below `root`. */
export async function checkEnvironment(root: string): Promise<string[]> {
  const problems: string[] = [];
  for (const file of await Array.fromAsync(
    new Glob("{hub,worker,shared,drizzle}/**/*.{ts,tsx}").scan(root),
  )) {
    if (READERS.test(file)) continue;
    const lines = (await Bun.file(join(root, file)).text()).split("\n");
    for (const [i, line] of lines.entries())
      if (READS.test(line))
        problems.push(`${file}:${i + 1}: only config.ts files read the environment`);
  }
  return problems.sort();
}

if (import.meta.main) {
  const problems = await checkEnvironment(join(import.meta.dir, ".."));
  for (const problem of problems) console.error(problem);
  process.exit(problems.length > 0 ? 1 : 0);
}
