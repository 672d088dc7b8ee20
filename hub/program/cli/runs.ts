import { FlotillaError, type Run, type RunFilter } from "#shared/client/index.ts";
import { EXIT } from "./exit.ts";
import { formatTable, printable } from "./print.ts";
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

const POLL_MS = 500;
const PAGE = 100;
/** How many past runs are shown before new ones follow. */
const FIRST = 10;
const PATIENCE_MS = 30_000;

/** The outcome, on one line. */
const resultText = ({ success, output_json, error }: Run): string =>
  success ? JSON.stringify(output_json) : (error ?? "");

const cells = (run: Run): string[] => [
  String(run.run_id),
  run.pk,
  String(run.attempt),
  run.outcome,
  run.worker_id ?? "",
  run.started_at.replace("T", " ").slice(0, 19),
  `${run.duration_ms} ms`,
  resultText(run),
];

const COLUMNS = [
  { title: "run", right: true },
  { title: "key", shrink: 12 },
  { title: "try", right: true },
  { title: "outcome" },
  { title: "worker", shrink: 8 },
  { title: "started" },
  { title: "took", right: true },
  { title: "result", shrink: 16 },
];

const line = (run: Run, json: boolean): string =>
  json ? JSON.stringify(run) : cells(run).map(printable).join("  ");

/**
 * Runs that were recorded since `after`, oldest first. Each call rereads what the last one found, because a run whose
 * number is lower may be committed a moment later than its neighbours.
 */
export function createRunReader(
  read: (filter: RunFilter) => Promise<Run[]>,
  after: number,
): () => Promise<Run[]> {
  let floor = after;
  let seen = new Set<number>();
  return async () => {
    const found: Run[] = [];
    const kept = new Set<number>();
    let before: number | undefined;
    for (let more = true; more; ) {
      const page = await read({ limit: PAGE, ...(before === undefined ? {} : { before }) });
      for (const run of page.filter(({ run_id }) => run_id > floor)) {
        kept.add(run.run_id);
        if (!seen.has(run.run_id)) found.push(run);
      }
      before = page.at(-1)?.run_id;
      more = page.length === PAGE && before !== undefined && before > floor;
    }
    const oldest = found.at(-1)?.run_id;
    const [newest = floor] = kept;
    floor = Math.max(floor, oldest === undefined ? newest : oldest - 1);
    seen = new Set([...kept].filter((run_id) => run_id > floor));
    return found.reverse();
  };
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
  for (let heard_at = clock.now(); !signal.aborted; ) {
    try {
      for (const run of await next()) print(run);
      heard_at = clock.now();
    } catch (err) {
      if (signal.aborted) return;
      const away = err instanceof FlotillaError && (err.status === 0 || err.status === 503);
      if (!away || clock.now() - heard_at > PATIENCE_MS) throw err;
    }
    await clock.sleep(POLL_MS, signal);
  }
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
      `${runs.length === 0 ? "no runs" : formatTable(COLUMNS, runs.map(cells), terminal.width)}\n`,
    );
  return EXIT.ok;
}
