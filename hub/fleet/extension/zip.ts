import { downloadZip } from "client-zip";
import { type ExtensionFile, extensionFiles } from "./extension-files.ts";
import { INSTALL_PAGE } from "./install-page.ts";

/** One date for all: the same files make the same archive. */
const MADE = new Date("2026-01-01T00:00:00Z");
const FOLDER = "flotilla-cookie-sync";

/** The extension as a zip of one folder (a few KB). */
export async function extensionZip(hub: string): Promise<Uint8Array<ArrayBuffer>> {
  const files = extensionFiles(hub).map(({ name, text }) => ({
    name: `${FOLDER}/${name}`,
    input: text,
    lastModified: MADE,
  }));
  return new Uint8Array(await downloadZip(files).arrayBuffer());
}

export const extensionFile = (hub: string, name: string): ExtensionFile | null =>
  extensionFiles(hub).find((file) => file.name === name) ?? null;

/** The page with instructions, every file of the extension linked on it. */
export function installPage(hub: string): string {
  const links = extensionFiles(hub).map(
    ({ name }) => `<a href="/profiles/extension/files/${name}" download>${name}</a>`,
  );
  return INSTALL_PAGE.replace("<!--files-->", links.join(", "));
}
