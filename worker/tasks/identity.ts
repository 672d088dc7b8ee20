import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";

/** Who the last process on this directory was: its name may be taken over, because it is dead. */
const Identity = z.object({
  control_url: z.string(),
  worker_id: z.string(),
  incarnation: z.string(),
});
export type Identity = z.infer<typeof Identity>;

const fileOf = (dir: string) => join(dir, "identity.json");

/** Null when there was none, or what it left cannot be read: then it counts as another worker. */
export async function readIdentity(dir: string): Promise<Identity | null> {
  try {
    return Identity.parse(JSON.parse(await readFile(fileOf(dir), "utf8")));
  } catch {
    return null;
  }
}

export async function writeIdentity(dir: string, identity: Identity): Promise<void> {
  // Whole or not at all: the process may be killed while it writes.
  await writeFile(`${fileOf(dir)}.new`, JSON.stringify(identity), { mode: 0o600 });
  await rename(`${fileOf(dir)}.new`, fileOf(dir));
}
