import { hubAsset } from "../jobs/hub-asset.ts";
import { storeAsset } from "../jobs/stored-files.ts";
import type { ScriptedJob } from "./job.ts";

/** What a scripted job stores besides what its scripts save; the worker keeps these names free. */
const RESULT_NAME = "result.json";
export const pictureName = (n: number): string => `attempt-${n}.png`;

/** Stores bytes as an asset of the job. @throws AppError too_large; conflict once the job has ended. */
export async function storeFile(
  { ctx, held, at, signal }: ScriptedJob,
  name: string,
  mime: string,
  body: Uint8Array<ArrayBuffer>,
): Promise<{ name: string; size: number }> {
  const top = mime.split("/", 1)[0] ?? "";
  const kind = top === "image" || top === "video" || top === "audio" ? top : "other";
  const ext = /\.([A-Za-z0-9]{1,16})$/.exec(name)?.[1]?.toLowerCase() ?? "";
  const meta = hubAsset({ name, kind, mime, ext }, at.url);
  const { size } = await storeAsset(ctx, held, meta, {
    body: new Blob([body]).stream(),
    sha256: new Bun.CryptoHasher("sha256").update(body).digest("hex"),
    size: body.length,
    signal,
  });
  return { name, size };
}

/** A longer one would make every list of jobs long; it is read from `result.json`. */
const MAX_ANSWER_BYTES = 64 * 1024;

/** The script's result as the job's `answer` (rules/scripts#result-of-a-script). */
export async function storeAnswer({ ctx, row, held }: ScriptedJob, value: unknown): Promise<void> {
  if (Buffer.byteLength(JSON.stringify(value)) > MAX_ANSWER_BYTES) return;
  await ctx.db.jobs.setAnswer(row.job_id, held.lease.token, { value });
}

/** The script's result as the job's `result.json` (rules/scripts#result-of-a-script). */
export const storeResult = (job: ScriptedJob, result: unknown) =>
  storeFile(
    job,
    RESULT_NAME,
    "application/json",
    new TextEncoder().encode(JSON.stringify(result, null, 2)),
  );
