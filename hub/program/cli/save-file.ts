import { createHash, randomBytes } from "node:crypto";
import { renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";

/** A file that takes longer than this to arrive is abandoned. */
const FILE_DEADLINE_MS = 600_000;

/**
 * Streams what `open` brings into a file, through a temporary name beside it.
 * @throws when it does not come as a whole, or is not what `sha256` says; then nothing is left of it.
 */
export async function saveFile(
  open: (signal: AbortSignal) => Promise<Response>,
  file: string,
  sha256: string | null = null,
): Promise<void> {
  const response = await open(AbortSignal.timeout(FILE_DEADLINE_MS));
  if (!response.body) throw new Error("the hub answered without a body");
  const temporary = join(dirname(file), `.${randomBytes(6).toString("hex")}.part`);
  const writer = Bun.file(temporary).writer();
  try {
    const hash = createHash("sha256");
    for await (const chunk of response.body) {
      hash.update(chunk);
      writer.write(chunk);
      await writer.flush();
    }
    await writer.end();
    if (sha256 !== null && hash.digest("hex") !== sha256) throw new Error("checksum differs");
    renameSync(temporary, file);
  } catch (err) {
    await Promise.resolve(writer.end()).catch(() => {});
    rmSync(temporary, { force: true });
    throw err;
  }
}
