import { expect, test } from "bun:test";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { checkLayers, judgeImports, LAYERS } from "../../scripts/check-layers.ts";

async function judgeTree(files: Record<string, string>): Promise<string[]> {
  const root = await mkdtemp(join(tmpdir(), "flotilla-layers-"));
  try {
    for (const [file, source] of Object.entries(files)) {
      await mkdir(dirname(join(root, file)), { recursive: true });
      await Bun.write(join(root, file), source);
    }
    return await checkLayers(root);
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

test("a forbidden import is reported, whether written with an alias, a relative path or import()", async () => {
  expect(
    await judgeTree({
      "hub/routes/a.ts": 'import { x } from "#hub/db/x.ts"; x();',
      "hub/routes/b.ts": 'export { x } from "../db/x.ts";',
      "hub/routes/c.ts": 'export const c = () => import("#hub/db/x.ts");',
      "worker/fetch/d.ts": 'import { x } from "#hub/db/x.ts"; x();',
      "hub/db/x.ts": "export const x = () => {};",
    }),
  ).toEqual([
    "hub/routes/a.ts (hub-routes) must not import #hub/db/x.ts (hub-db)",
    "hub/routes/b.ts (hub-routes) must not import ../db/x.ts (hub-db)",
    "hub/routes/c.ts (hub-routes) must not import #hub/db/x.ts (hub-db)",
    "worker/fetch/d.ts (fetch) must not import #hub/db/x.ts (hub-db)",
  ]);
});

test("a file of no layer is reported", async () => {
  expect(await judgeTree({ "hub/utils/a.ts": "export const a = 1;" })).toEqual([
    "hub/utils/a.ts: belongs to no layer",
  ]);
});

test("a type-only import is free", async () => {
  expect(
    await judgeTree({
      "hub/jobs/a.ts":
        'import type { Db } from "#hub/platform/db/types.ts"; export const a = (d: Db) => d;',
      "hub/platform/db/types.ts": "export interface Db { x: 1 }",
    }),
  ).toEqual([]);
});

test("a package that is not the layer's own is reported", () => {
  expect(judgeImports("hub/routes/a.ts", ["drizzle-orm/pg-core", "hono/cors", "node:fs"])).toEqual([
    "hub/routes/a.ts (hub-routes) must not import the package drizzle-orm/pg-core",
  ]);
});

test("every layer that may be imported exists", () => {
  const names = new Set(LAYERS.map((layer) => layer.name));
  expect(LAYERS.flatMap((layer) => layer.may).filter((name) => !names.has(name))).toEqual([]);
});
