import { mkdir, open, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { isProcessAlive } from "#hub/platform/process-alive.ts";
import { AppError } from "#shared/kit/errors.ts";
import { OWN_DIR, OWN_FILE } from "#shared/kit/own-dir.ts";
import type { FleetContext } from "../context.ts";
import { jobPrefix } from "../jobs/stored-files.ts";

/** An archive on its way in. */
export interface ArchiveUpload {
  body: ReadableStream<Uint8Array>;
  /** As announced by the sender. */
  size: number | undefined;
  signal: AbortSignal;
}

const dirOf = ({ config }: Pick<FleetContext, "config">) => join(config.data_dir, "imports");

/** Where the upload of a job lies: the name tells the next start which process had it, and for which job. */
const pathOf = (ctx: Pick<FleetContext, "config">, job_id: string) =>
  join(dirOf(ctx), `${process.pid}-${job_id}`);

/**
 * Writes the upload to the disk, because a WACZ is read from its end, and calls `read` with the file. The file is gone
 * afterwards.
 * @throws AppError too_large
 */
export async function spooled<T>(
  ctx: Pick<FleetContext, "config">,
  job_id: string,
  { body, size, signal }: ArchiveUpload,
  read: (file: Awaited<ReturnType<typeof open>>) => Promise<T>,
): Promise<T> {
  const max_bytes = ctx.config.max_asset_bytes;
  const too_large = () =>
    new AppError("too_large", `the archive is longer than ${max_bytes} bytes`);
  if (size !== undefined && size > max_bytes) {
    await body.cancel();
    throw too_large();
  }
  await mkdir(dirOf(ctx), { recursive: true, mode: OWN_DIR });
  const path = pathOf(ctx, job_id);
  const file = await open(path, "wx+", OWN_FILE);
  const reader = body.getReader();
  const stop = () => void reader.cancel(signal.reason).catch(() => {});
  signal.addEventListener("abort", stop, { once: true });
  try {
    let written = 0;
    for (;;) {
      const { done, value } = await reader.read();
      signal.throwIfAborted();
      if (done) break;
      written += value.length;
      if (written > max_bytes) throw too_large();
      await file.writeFile(value);
    }
    return await read(file);
  } catch (err) {
    await reader.cancel(err).catch(() => {});
    throw err;
  } finally {
    signal.removeEventListener("abort", stop);
    await file.close();
    await rm(path, { force: true });
  }
}

/** Removes what was being imported when a hub was killed: the upload, and bodies that no job has. */
export async function sweepImports(
  ctx: Pick<FleetContext, "db" | "objects" | "config">,
): Promise<void> {
  const names = await readdir(dirOf(ctx)).catch(() => []);
  for (const name of names) {
    const [, pid, job_id] = /^(\d+)-([\w-]+)$/.exec(name) ?? [];
    // After a restart of a container the number may be this process' own again: it has imported nothing yet.
    if (!job_id || (Number(pid) !== process.pid && isProcessAlive(Number(pid)))) continue;
    if (!(await ctx.db.jobs.get(job_id))) await ctx.objects.deletePrefix(jobPrefix(job_id));
    await rm(join(dirOf(ctx), name), { force: true });
  }
}
