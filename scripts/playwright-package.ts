import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { BunPlugin } from "bun";

/** How Playwright reads its own version and its list of browsers. */
const OWN_FILE = /require\(\w+(?:\.default)?\.join\(packageRoot, "(package|browsers)\.json"\)\)/g;

const LIB = /playwright-core\/lib\/(coreBundle|package|serverRegistry)\.js$/;

/** A file of Playwright's with those two in the place of the calls that would read them. */
export function inlineOwnFiles(root: string, source: string): string {
  const read = (name: string) =>
    readFileSync(join(root, "node_modules/playwright-core", name), "utf8");
  return source.replace(
    OWN_FILE,
    (_, name) => `(${JSON.stringify(JSON.parse(read(`${name}.json`)))})`,
  );
}

/**
 * Puts the JSON files that Playwright requires by a path made at run time into the executable: that path is one of the
 * machine which built it, and on every other machine sessions would end with "Cannot find module".
 */
export const playwrightPackage = (root: string): BunPlugin => ({
  name: "playwright's own files",
  setup: (build) => {
    build.onLoad({ filter: LIB }, ({ path }) => ({
      contents: inlineOwnFiles(root, readFileSync(path, "utf8")),
      loader: "js",
    }));
  },
});
