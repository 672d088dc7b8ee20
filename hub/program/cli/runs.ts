import type { Run, RunFilter } from "#shared/client/index.ts";
import { moment } from "./client-call.ts";
import { EXIT } from "./exit.ts";
import { newEntries } from "./new-entries.ts";
import { pollUntil } from "./poll.ts";
import { type Column, printable, tableFor } from "./print.ts";
import type { WatchDeps } from "./watch-queue.ts";

export interface RunsRequest {
  slug: string;
  follow: boolean;
  failed: boolean;
  /** Only runs that have all of these. */
  label: string[];
  /** Passed on as written: the control plane validates it. */
  limit: string | null;
  json: boolean;
}

const PAGE = 100;
/** How many past runs are shown before new ones follow. */
const FIRST = 10;

/** The outcome, on one line. */
const resultText = ({ success, output_json, error }: Run): string =>
  success ? JSON.stringify(output_json) : (error ?? "");

const cells = (run: Run): string[] => [
  String(run.run_id),
  run.pk,
  String(run.attempt),
  run.outcome,
  run.worker_id ?? "",
  moment(run.started_at),
  `${run.duration_ms} ms`,
  resultText(run),
];

const COLUMNS: readonly Column[] = [
  { title: "run", right: true },
  { title: "key", shrink: 12 },
  { title: "try", right: true },
  { title: "outcome", state: true },
  { title: "worker", shrink: 8 },
  { title: "started" },
  { title: "took", right: true },
  { title: "result", shrink: 16 },
];

const line = (run: Run, json: boolean): string =>
  json ? JSON.stringify(run) : cells(run).map(printable).join("  ");

/** Runs that were recorded since `after`, oldest first, each once. */
export function createRunReader(
  read: (filter: RunFilter) => Promise<Run[]>,
  after: number,
): () => Promise<Run[]> {
  const readAfter = async (from: number): Promise<Run[]> => {
    const found: Run[] = [];
    let before: number | undefined;
    for (let more = true; more; ) {
      const page = await read({ limit: PAGE, ...(before === undefined ? {} : { before }) });
      found.push(...page.filter(({ run_id }) => run_id > from));
      before = page.at(-1)?.run_id;
      more = page.length === PAGE && before !== undefined && before > from;
    }
    return found.reverse();
  };
  return newEntries(readAfter, ({ run_id }) => run_id, after);
}

async function follow(deps: WatchDeps, request: RunsRequest, filter: RunFilter): Promise<void> {
  const { workloads, terminal, clock, signal } = deps;
  const { slug, json } = request;
  const print = (run: Run) => terminal.out(`${line(run, json)}\n`);
  const [newest] = await workloads.runs(slug, { limit: 1 });
  const first = await workloads.runs(slug, { limit: FIRST, ...filter });
  for (const run of first.toReversed()) print(run);
  const after = first[0]?.run_id ?? newest?.run_id ?? 0;
  const next = createRunReader(
    (page) => workloads.runs(slug, { ...filter, ...page }, { signal }),
    after,
  );
  await pollUntil({ clock, signal }, async () => {
    for (const run of await next()) print(run);
    return false;
  });
}

/**
 * `flotilla runs`: newest first; with `follow` oldest first, and then as they are recorded, until Ctrl-C (exit code
 * 130).
 */
export async function runRunsCommand(deps: WatchDeps, request: RunsRequest): Promise<number> {
  const { workloads, terminal } = deps;
  const filter: RunFilter = {
    ...(request.failed ? { success: false } : {}),
    ...(request.label.length > 0 ? { label: request.label } : {}),
    ...(request.limit === null ? {} : { limit: Number(request.limit) }),
  };
  if (request.follow) {
    await follow(deps, request, filter);
    return EXIT.interrupted;
  }
  const runs = await workloads.runs(request.slug, filter);
  if (request.json) terminal.out(`${JSON.stringify({ runs }, null, 2)}\n`);
  else
    terminal.out(
      `${runs.length === 0 ? "no runs" : tableFor(terminal, COLUMNS, runs.map(cells))}\n`,
    );
  return EXIT.ok;
}
