import { createHash, randomBytes } from "node:crypto";
import { renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { windUpWithin } from "#shared/kit/call-within.ts";
import type { Clock } from "#shared/kit/clock.ts";
import type { Terminal } from "./print.ts";

/** A file that takes longer than this to arrive is abandoned. */
const FILE_DEADLINE_MS = 600_000;

type Open = (signal: AbortSignal) => Promise<Response>;

type Body = NonNullable<Response["body"]>;

/** Gives `take` the body that `open` brings, and waits after the deadline for it to remove what it has begun. */
const receive = (clock: Clock, open: Open, take: (body: Body) => Promise<void>): Promise<void> =>
  windUpWithin(clock, { what: "the file", ms: FILE_DEADLINE_MS }, async (signal) => {
    const { body } = await open(signal);
    if (!body) throw new Error("the hub answered without a body");
    await take(body);
  });

/** Streams what `open` brings to standard output. */
export const printFile = (
  clock: Clock,
  open: Open,
  { out }: Pick<Terminal, "out">,
): Promise<void> =>
  receive(clock, open, async (body) => {
    for await (const chunk of body) out(chunk);
  });

/**
 * Streams what `open` brings into a file, through a temporary name beside it.
 * @throws when it does not come as a whole, or is not what `sha256` says; then nothing is left of it.
 */
export const saveFile = (
  clock: Clock,
  open: Open,
  file: string,
  sha256: string | null = null,
): Promise<void> => receive(clock, open, (body) => writeBody(body, file, sha256));

async function writeBody(body: Body, file: string, sha256: string | null): Promise<void> {
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
