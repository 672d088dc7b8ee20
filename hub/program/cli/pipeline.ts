import { createClient } from "#shared/client/index.ts";
import { authorityOption } from "#shared/protocol/trust.ts";
import type { FlagValues } from "./args.ts";
import type { Command } from "./commands.ts";
import { UsageError } from "./exit.ts";
import { labelsOf } from "./labels.ts";
import { runQueueCommand } from "./queue.ts";
import { runRunsCommand } from "./runs.ts";
import { runSubmitCommand } from "./submit.ts";
import { runTableCommand, tableRequest } from "./submit-table.ts";
import type { WatchDeps } from "./watch-queue.ts";

const PIPELINE_COMMANDS = ["submit", "queue", "runs"] as const;
type PipelineCommand = (typeof PIPELINE_COMMANDS)[number];

export const isPipelineCommand = (command: Command): command is PipelineCommand =>
  PIPELINE_COMMANDS.some((name) => name === command);

export interface PipelineDeps extends Omit<WatchDeps, "workloads"> {
  /** Address of a hub or a control plane. */
  url: string;
  token: string | undefined;
}

async function openInput(file: string): Promise<ReadableStream<Uint8Array>> {
  if (file === "-") return Bun.stdin.stream();
  const input = Bun.file(file);
  const stat = await input.stat().catch(() => null);
  if (!stat) throw new UsageError(`${file} does not exist`);
  if (stat.isDirectory()) throw new UsageError(`${file} is a directory`);
  return input.stream();
}

/** Where the tasks of `submit` come from: words, a file, or standard input. */
function submitSource(words: string[], file: string | undefined) {
  if (file !== undefined && words.length > 0)
    throw new UsageError("submit takes keys or --file, not both");
  if (file === undefined && words.length === 0)
    throw new UsageError(
      "submit needs a key, --file FILE, --csv FILE, --jsonl FILE or - for standard input",
    );
  const piped = words.length === 1 && words[0] === "-";
  return piped ? { pks: [], file: "-" } : { pks: words, file: file ?? null };
}

/** The commands of the pipeline, over its typed client (rules/clients#tasks-of-a-file). */
export function runPipelineCommand(
  command: PipelineCommand,
  [slug = "", ...words]: string[],
  flags: FlagValues,
  { url, token, ...rest }: PipelineDeps,
): Promise<number> {
  const { workloads } = createClient({
    base_url: url,
    ...(token ? { token } : {}),
    ...authorityOption(),
  });
  const deps = { ...rest, workloads };
  const on = (name: string) => flags[name] !== undefined;
  const json = on("json");
  switch (command) {
    case "submit": {
      const table = tableRequest(slug, words, flags);
      if (table) return runTableCommand({ ...deps, openInput }, table);
      const source = submitSource(words, flags.file?.at(-1));
      const labels = labelsOf(flags.label);
      const request = { slug, ...source, labels, wait: on("wait"), json };
      return runSubmitCommand({ ...deps, openInput }, request);
    }
    case "queue":
      return runQueueCommand(deps, { slug, watch: on("watch"), json });
    case "runs": {
      const limit = flags.limit?.at(-1) ?? null;
      return runRunsCommand(deps, {
        slug,
        follow: on("follow"),
        failed: on("failed"),
        label: [...(flags.label ?? [])],
        limit,
        json,
      });
    }
  }
}
