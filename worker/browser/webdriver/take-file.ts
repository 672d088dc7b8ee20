import { open, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ArchiveError } from "#shared/archive/archive-error.ts";
import { readZip, type ZipFile } from "#shared/archive/read-zip.ts";
import { AppError, errorMessage } from "#shared/kit/errors.ts";
import { newToken } from "#shared/protocol/ids.ts";
import { WebDriverError } from "#shared/protocol/webdriver-error.ts";
import type { LiveSession } from "../session/live-session.ts";

/** A client packs one file; some add the directories above it. */
const LIMITS = { entries: 100, directory_bytes: 64 * 1024 };

/**
 * `POST /session/{id}/se/file`: a file of the client, as a zip in base64, which becomes an input file of the session.
 * @returns the path that the client then types into an `input type=file`; its last part is the file's name
 * @throws WebDriverError for what is no zip with one file, or too large
 */
export async function takeFile(session: LiveSession, body: unknown): Promise<string> {
  const file = (body as { file?: unknown } | null)?.file;
  const root = session.browser()?.dirs.root;
  if (typeof file !== "string") throw new WebDriverError("invalid argument", "file is required");
  if (root === undefined) throw new WebDriverError("unknown error", "the browser is starting");
  const path = join(root, `${newToken()}.zip`);
  try {
    await writeFile(path, Buffer.from(file, "base64"), { mode: 0o600, flag: "wx" });
    return await unpack(session, path);
  } catch (err) {
    if (err instanceof ArchiveError || err instanceof AppError)
      throw new WebDriverError("invalid argument", errorMessage(err), { cause: err });
    throw err;
  } finally {
    await rm(path, { force: true });
  }
}

async function unpack(session: LiveSession, path: string): Promise<string> {
  const zip = await open(path, "r");
  try {
    const files = (await readZip(zip, LIMITS)).filter(({ name }) => !name.endsWith("/"));
    const [only] = files;
    if (only === undefined || files.length > 1)
      throw new WebDriverError("invalid argument", "file must be a zip with one file");
    return await store(session, only);
  } finally {
    await zip.close();
  }
}

/** Its bytes are counted as those of any input file of the session. */
async function store({ files }: LiveSession, { name, read }: ZipFile): Promise<string> {
  const upload_id = newToken();
  const upload = files.createUpload(upload_id);
  try {
    for await (const chunk of read()) upload.write(chunk);
    upload.end();
  } finally {
    upload.discard();
  }
  return files.takeInput(name.split("/").at(-1) ?? "", { upload_id });
}
