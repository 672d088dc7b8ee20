import { workloadCalls } from "#shared/client/workloads.ts";
import type { ClientCall } from "./client-call.ts";
import { UsageError } from "./exit.ts";
import { labelsOf } from "./labels.ts";
import { openInput } from "./open-input.ts";
import { runQueueCommand } from "./queue.ts";
import { runRunsCommand } from "./runs.ts";
import { runSubmitCommand } from "./submit.ts";
import { runTableCommand, tableRequest } from "./submit-table.ts";

type PipelineCommand = "submit" | "queue" | "runs";

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
export function runPipelineCommand(command: PipelineCommand, call: ClientCall): Promise<number> {
  const { client, terminal, clock, signal, flags, json } = call;
  const [slug = "", ...words] = call.words;
  const deps = { workloads: workloadCalls(client), terminal, clock, signal };
  const on = (name: string) => flags[name] !== undefined;
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
