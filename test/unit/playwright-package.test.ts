import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { inlineOwnFiles } from "../../scripts/playwright-package.ts";

const ROOT = join(import.meta.dir, "../..");

test("the executable reads nothing of Playwright's folder when it connects to a browser", () => {
  const lib = readFileSync(join(ROOT, "node_modules/playwright-core/lib/coreBundle.js"), "utf8");
  const reads = /require\([^()]*join\(packageRoot,[^()]*\)\)/g;
  expect(lib.match(reads)).toHaveLength(2);
  const inlined = inlineOwnFiles(ROOT, lib);
  expect(inlined.match(reads)).toBeNull();
  expect(inlined).toContain('"name":"playwright-core"');
  expect(inlined).toContain('"browserVersion"');
});
