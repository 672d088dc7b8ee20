import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { replaceFile } from "#shared/kit/replace-file.ts";

/** The identity of the last process in this directory: its name may be taken over, because it is dead. */
const Identity = z.object({
  control_url: z.string(),
  worker_id: z.string(),
  incarnation: z.string(),
});
export type Identity = z.infer<typeof Identity>;

const fileOf = (dir: string) => join(dir, "identity.json");

/** Null when there was none or its file cannot be read: then it counts as another worker. */
export async function readIdentity(dir: string): Promise<Identity | null> {
  try {
    return Identity.parse(JSON.parse(await readFile(fileOf(dir), "utf8")));
  } catch {
    return null;
  }
}

export const writeIdentity = (dir: string, identity: Identity): Promise<void> =>
  replaceFile(fileOf(dir), JSON.stringify(identity));
