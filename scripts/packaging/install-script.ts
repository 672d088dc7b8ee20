import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { ROOT } from "../build.ts";

export interface InstallScript {
  /** What the release is called: the script installs no other one unless it is told where from. */
  name: string;
  /** Where the release's files will be served; null: whoever runs it says so. */
  url: string | null;
  public_pem: string;
}

/** install.sh of a release, which knows where that is, what it is called and the key that it is signed with. */
export async function installScript({ name, url, public_pem }: InstallScript): Promise<string> {
  const text = await readFile(join(ROOT, "scripts/install.sh"), "utf8");
  const key = public_pem.replace(/-----[^-]+-----|\s/g, "");
  const values = { RELEASE_NAME: name, RELEASE_URL: url ?? "", RELEASE_KEY: key };
  let filled = text;
  for (const [variable, value] of Object.entries(values)) {
    const line = `${variable}=""\n`;
    if (!filled.includes(line)) throw new Error(`scripts/install.sh has no line ${variable}=""`);
    filled = filled.replace(line, () => `${variable}="${value}"\n`);
  }
  return filled;
}
