import type { SessionActionArgs } from "#shared/protocol/actions/session-actions.ts";
import { MAX_READ_DOWNLOAD_BYTES } from "#shared/protocol/limits.ts";
import type { DownloadedFile } from "../session/session-files.ts";
import type { ActionContext, PageActions } from "./context.ts";
import { ActionFailure, refused } from "./failure.ts";

type Download = Omit<DownloadedFile, "created_at">;

const shown = ({ created_at: _, ...file }: DownloadedFile): Download => file;

/** Lists what the session's browser downloaded, oldest first. */
const listDownloads = async ({ downloads }: ActionContext): Promise<Download[]> =>
  downloads.list().map(shown);

/**
 * Waits until a downloaded file is whole and returns it with its content; without a name the newest, or the first
 * one to come.
 */
async function readDownload(
  ctx: ActionContext,
  { name }: SessionActionArgs<"read_download">,
): Promise<{ name: string; mime: string; size: number; content_base64: string }> {
  const find = () =>
    ctx.downloads.list().findLast((file) => name === undefined || file.name === name);
  if (name !== undefined && !find()) throw refused(`there is no download ${name}`);
  const file = await wholeDownload(ctx, find, ctx.clock.monotonic() + ctx.timeout_ms);
  const { mime, size } = file;
  if (size > MAX_READ_DOWNLOAD_BYTES)
    throw refused(
      `${file.name} has ${size} bytes, more than ${MAX_READ_DOWNLOAD_BYTES}: read it from /sessions/{sid}/files/{name}`,
    );
  const stored = ctx.downloads.open(file.name);
  if (!stored) throw refused(`${file.name} is no longer kept`);
  const bytes = Buffer.from(await Bun.file(stored.path).arrayBuffer());
  return { name: file.name, mime, size, content_base64: bytes.toString("base64") };
}

/** The first download that is not in `seen`, once it is whole, or by `until` (epoch ms) at the latest. */
export const nextDownload = async (
  ctx: ActionContext,
  seen: readonly DownloadedFile[],
  until: number,
): Promise<Download> => {
  const names = new Set(seen.map(({ name }) => name));
  const find = () => ctx.downloads.list().find(({ name }) => !names.has(name));
  return shown(await wholeDownload(ctx, find, until));
};

/**
 * How often to look for the file; the browser's own events belong to the session, and a file appears within
 * milliseconds.
 */
const LOOK_MS = 25;

async function wholeDownload(
  { clock, signal, timeout_ms }: ActionContext,
  find: () => DownloadedFile | undefined,
  until: number,
): Promise<DownloadedFile> {
  for (;;) {
    const file = find();
    if (file?.state === "completed") return file;
    if (file?.state === "canceled") throw refused(`the download of ${file.name} was cancelled`);
    if (signal.aborted || clock.monotonic() >= until)
      throw new ActionFailure("timeout", {
        name: "TimeoutError",
        message: file
          ? `${file.name} is still downloading, ${file.size} bytes so far, after ${timeout_ms} ms`
          : `no download within ${timeout_ms} ms`,
      });
    await clock.sleep(LOOK_MS, signal);
  }
}

export const DOWNLOADS = {
  downloads: listDownloads,
  read_download: readDownload,
} satisfies Partial<PageActions>;
