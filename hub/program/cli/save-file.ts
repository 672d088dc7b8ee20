import { createHash, randomBytes } from "node:crypto";
import { renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Terminal } from "./print.ts";

/** A file that takes longer than this to arrive is abandoned. */
const FILE_DEADLINE_MS = 600_000;

type Open = (signal: AbortSignal) => Promise<Response>;

async function bodyOf(open: Open): Promise<NonNullable<Response["body"]>> {
  const { body } = await open(AbortSignal.timeout(FILE_DEADLINE_MS));
  if (!body) throw new Error("the hub answered without a body");
  return body;
}

/** Streams what `open` brings to standard output. */
export async function printFile(open: Open, { out }: Pick<Terminal, "out">): Promise<void> {
  for await (const chunk of await bodyOf(open)) out(chunk);
}

/**
 * Streams what `open` brings into a file, through a temporary name beside it.
 * @throws when it does not come as a whole, or is not what `sha256` says; then nothing is left of it.
 */
export async function saveFile(
  open: Open,
  file: string,
  sha256: string | null = null,
): Promise<void> {
  const body = await bodyOf(open);
  const temporary = join(dirname(file), `.${randomBytes(6).toString("hex")}.part`);
  const writer = Bun.file(temporary).writer();
  try {
    const hash = createHash("sha256");
    for await (const chunk of body) {
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
