import { join } from "node:path";
import { Glob } from "bun";

/**
 * Files with one raw `AbortSignal.timeout`, and why. All others hand their clock to `callWithin` or `windUpWithin`
 * (shared/kit/call-within.ts): then a deadline can be tested without waiting, and forgives a machine that stood still.
 */
const RAW: Readonly<Record<string, string>> = {
  "hub/fleet/extension/files/service-worker.js":
    "Chromium runs the extension, which has its own files alone",
  "hub/ui/client/lib/http.ts":
    "the app knows a late answer by the name of the reason (connection.ts), and reads its body afterwards",
  "shared/client/jobs.ts":
    "users of the client may wait for longer than a timer lasts, which is 24 days, and see the TimeoutError as its cause",
  "worker/tasks/flotilla-store.ts": "tasks import it where there is nothing else of the worker",
  "worker/tasks/plugin-store.ts": "the body of its answer is passed on after the call has ended",
};

/** How many signals `source` makes that abort by the system's clock. */
export const countRaw = (source: string): number =>
  source.match(/AbortSignal\.timeout\((?!\))/g)?.length ?? 0;

/** Files with more of them than are listed, and entries that have none any more. */
export function judgeRaw(
  found: Readonly<Record<string, number>>,
  listed: Readonly<Record<string, string>>,
): string[] {
  const problems: string[] = [];
  for (const [file, count] of Object.entries(found)) {
    const most = file in listed ? 1 : 0;
    if (count > most)
      problems.push(
        `${file}: ${count} raw AbortSignal.timeout, at most ${most}: use callWithin of shared/kit/call-within.ts`,
      );
  }
  for (const file of Object.keys(listed))
    if (!found[file]) problems.push(`${file}: has none any more: take it off raw-deadlines.ts`);
  return problems;
}

/** Every violation below `root`, one line each. */
export async function checkDeadlines(root: string, listed = RAW): Promise<string[]> {
  const found: Record<string, number> = {};
  const files = new Glob("{hub,worker,shared,drizzle}/**/*.{ts,tsx,js}").scan(root);
  for await (const file of files) found[file] = countRaw(await Bun.file(join(root, file)).text());
  return judgeRaw(found, listed);
}

if (import.meta.main) {
  const problems = await checkDeadlines(join(import.meta.dir, ".."));
  for (const problem of problems) console.error(problem);
  process.exit(problems.length > 0 ? 1 : 0);
}
