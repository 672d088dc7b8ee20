import { FlotillaError } from "#shared/client/index.ts";
import type { ImportFormat, ImportResult } from "#shared/protocol/schema/task-import.ts";
import type { FlagValues } from "./args.ts";
import { EXIT, UsageError } from "./exit.ts";
import { tellRefusal } from "./hub-client.ts";
import { printable } from "./print.ts";
import type { SubmitDeps } from "./submit.ts";

/** A file whose rows become tasks: what the hub reads itself. */
export interface TableRequest {
  slug: string;
  format: ImportFormat;
  file: string;
  query: { key?: string; columns?: string; typed: boolean; dry_run: boolean; skip_faults: boolean };
  json: boolean;
}

const FORMATS: readonly ImportFormat[] = ["csv", "jsonl"];

/** Null when neither --csv nor --jsonl is given. @throws UsageError for flags that do not go together */
export function tableRequest(
  slug: string,
  words: string[],
  flags: FlagValues,
): TableRequest | null {
  const [format, other] = FORMATS.filter((name) => flags[name] !== undefined);
  const on = (name: string) => flags[name] !== undefined;
  const own = ["key", "columns", "typed", "dry-run", "skip-faults"].find(on);
  if (format === undefined) {
    if (own !== undefined) throw new UsageError(`--${own} is for --csv and --jsonl`);
    return null;
  }
  if (other !== undefined || on("file") || words.length > 0)
    throw new UsageError("submit takes one of keys, --file, --csv and --jsonl");
  if (on("wait")) throw new UsageError("--wait is for keys and --file; see flotilla queue --watch");
  const [key, columns] = [flags.key?.at(-1), flags.columns?.at(-1)];
  const query = {
    ...(key === undefined ? {} : { key }),
    ...(columns === undefined ? {} : { columns }),
    typed: on("typed"),
    dry_run: on("dry-run"),
    skip_faults: on("skip-faults"),
  };
  return { slug, format, file: flags[format]?.at(-1) ?? "", query, json: on("json") };
}

const n = (count: number, one: string, many = `${one}s`) =>
  `${count.toLocaleString("en-US")} ${count === 1 ? one : many}`;

function textOf(result: ImportResult): string {
  const { dry_run, rows, submitted, duplicates, fault_count, tasks } = result;
  const done = dry_run
    ? `${n(rows - fault_count - duplicates, "task")} would be submitted`
    : `${n(submitted, "task")} submitted`;
  const more = [
    duplicates > 0 ? `${n(duplicates, "duplicate")} left alone` : "",
    fault_count > 0
      ? `${n(fault_count, "line")} with faults ${dry_run ? "found" : "left out"}`
      : "",
  ].filter(Boolean);
  const shown = dry_run ? tasks.slice(0, 5).map((task) => printable(JSON.stringify(task))) : [];
  return [[done, ...more].join(", "), ...shown].join("\n");
}

/** `flotilla submit --csv FILE` and `--jsonl FILE`. @returns the exit code; 1 when a dry run finds faults */
export async function runTableCommand(
  { workloads, terminal, signal, openInput }: SubmitDeps,
  { slug, format, file, query, json }: TableRequest,
): Promise<number> {
  const body = await openInput(file);
  try {
    const result = await workloads.importTasks(slug, body, { ...query, format, signal });
    terminal.out(`${json ? JSON.stringify(result) : textOf(result)}\n`);
    for (const { line, error } of json ? [] : result.faults)
      terminal.err(`flotilla: line ${line}: ${printable(error)}\n`);
    return query.dry_run && result.fault_count > 0 ? EXIT.failed : EXIT.ok;
  } catch (err) {
    if (signal.aborted) return EXIT.interrupted;
    if (err instanceof FlotillaError && err.status === 422 && Array.isArray(err.detail)) {
      for (const { loc, msg } of err.detail as { loc: unknown[]; msg: string }[])
        terminal.err(`flotilla: ${loc[1] === "line" ? `line ${loc[2]}: ` : ""}${printable(msg)}\n`);
      return EXIT.usage;
    }
    return tellRefusal(terminal, err);
  }
}
