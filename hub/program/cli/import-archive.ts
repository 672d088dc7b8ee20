import { statSync } from "node:fs";
import { counted, humanSize } from "#shared/kit/words.ts";
import type { Job } from "#shared/protocol/schema/job.ts";
import { UsageError } from "./exit.ts";
import { captureLine } from "./fetch.ts";
import { tell } from "./hub-client.ts";
import type { ListDeps } from "./list-commands.ts";
import { printable } from "./print.ts";

/** As long as the hub gives an upload. */
const UPLOAD_MS = 1_800_000;

const text = (job: Job): string =>
  [
    `job ${job.job_id} imported: ${counted(job.asset_count, "asset")}, ${humanSize(job.asset_bytes)}, ${printable(job.url)}`,
    captureLine(job),
    ...(job.capture?.warnings ?? []).map((warning) => `warning: ${printable(warning)}`),
  ].join("\n");

/** `flotilla import FILE` (rules/documents#import-of-a-web-archive). @throws UsageError when there is no such file */
export async function runImportCommand(
  { client, terminal }: ListDeps,
  path: string,
  json: boolean,
): Promise<number> {
  if (!statSync(path, { throwIfNoEntry: false })?.isFile())
    throw new UsageError(`${printable(path)} is not a file`);
  const asked = client.call("POST /jobs/import", {
    timeout_ms: UPLOAD_MS,
    body: Bun.file(path),
    headers: { "content-type": "application/octet-stream" },
  });
  return tell(terminal, asked, (job) => (json ? JSON.stringify(job, null, 2) : text(job)));
}
