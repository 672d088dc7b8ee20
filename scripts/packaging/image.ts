import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** The definition of the OCI image, of the package that stands beside it. */
export async function containerfile(name: string): Promise<string> {
  const text = await readFile(join(import.meta.dir, "Containerfile"), "utf8");
  return text.replaceAll("@NAME@", name);
}
