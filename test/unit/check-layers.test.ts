import { expect, test } from "bun:test";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { checkLayers, judgeImports } from "../../scripts/check-layers.ts";
import { LAYERS } from "../../scripts/layers.ts";
import { ROOMS } from "../../scripts/rooms.ts";
import { countWhole, judgeWhole } from "../../scripts/whole-contexts.ts";

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
      "hub/fleet/jobs/a.ts": 'import { x } from "#hub/pipeline/queue/x.ts"; x();',
      "hub/fleet/links/b.ts": 'export { y } from "../jobs/y.ts";',
      "hub/platform/http/c.ts": 'export const c = () => import("#hub/fleet/jobs/y.ts");',
      "worker/browser/fetch/d.ts": 'import { x } from "#hub/pipeline/queue/x.ts"; x();',
      "hub/fleet/jobs/y.ts": "export const y = () => {};",
      "hub/pipeline/queue/x.ts": "export const x = () => {};",
    }),
  ).toEqual([
    "hub/fleet/jobs/a.ts (hub/fleet) must not know #hub/pipeline/queue/x.ts (hub/pipeline)",
    "hub/fleet/links/b.ts (fleet/links) must not import ../jobs/y.ts (fleet/jobs)",
    "hub/platform/http/c.ts (hub/platform) must not know #hub/fleet/jobs/y.ts (hub/fleet)",
    "worker/browser/fetch/d.ts (worker/browser) must not know #hub/pipeline/queue/x.ts (hub/pipeline)",
  ]);
});

test("a file of no room is reported", async () => {
  expect(await judgeTree({ "hub/utils/a.ts": "export const a = 1;" })).toEqual([
    "hub/utils/a.ts: belongs to no room",
    "hub/utils/a.ts: belongs to no layer",
  ]);
});

test("between rooms types count as well; within a room they are free", async () => {
  expect(
    await judgeTree({
      "hub/platform/cluster/a.ts":
        'import type {\n  FleetContext,\n} from "#hub/fleet/context.ts"; export const a = (c: FleetContext) => c;',
      "hub/fleet/links/b.ts":
        'import type { FleetContext } from "../context.ts"; export const b = (c: FleetContext) => c;',
      "hub/fleet/context.ts": "export interface FleetContext { x: 1 }",
    }),
  ).toEqual([
    "hub/platform/cluster/a.ts (hub/platform) must not know #hub/fleet/context.ts (hub/fleet)",
  ]);
});

test("files that import each other are reported, by whichever types", async () => {
  expect(
    await judgeTree({
      "hub/fleet/jobs/a.ts": 'import type { B } from "./b.ts"; export const a = (b: B) => b;',
      "hub/fleet/jobs/b.ts": 'import { c } from "./c.ts"; export type B = typeof c;',
      "hub/fleet/jobs/c.ts": 'import { a } from "./a.ts"; export const c = a;',
    }),
  ).toEqual([
    "a circle of imports: hub/fleet/jobs/a.ts → hub/fleet/jobs/b.ts → hub/fleet/jobs/c.ts → hub/fleet/jobs/a.ts",
  ]);
});

test("a package that is not the layer's own is reported", () => {
  const imports = ["drizzle-orm/pg-core", "hono/cors", "node:fs"];
  expect(judgeImports("hub/fleet/routes/a.ts", imports)).toEqual([
    "hub/fleet/routes/a.ts (fleet/routes) must not import the package drizzle-orm/pg-core",
  ]);
});

test("every room and layer that may be imported exists, and no room knows one that knows it", () => {
  const layers = new Set(LAYERS.map((layer) => layer.name));
  expect(LAYERS.flatMap(({ may = [] }) => may).filter((name) => !layers.has(name))).toEqual([]);
  const rooms = ROOMS.map((room) => room.name);
  for (const [at, { may }] of ROOMS.entries())
    for (const name of may) {
      expect(rooms).toContain(name);
      expect(rooms.indexOf(name)).toBeLessThan(at);
    }
});

test("parameters that are a whole context are counted, and their number may only fall", () => {
  const source = [
    "function a(ctx: FleetContext, { db }: FleetContext): void {}",
    'const b = (ctx: Pick<FleetContext, "db">, all: FleetContext[]) => ctx;',
    "const c = (of: () => FleetContext, some: () => SomeContext) => of().db;",
    "interface D { ctx: FleetContext; }",
  ].join("\n");
  expect(countWhole(source, "FleetContext")).toBe(3);
  expect(judgeWhole({ FleetContext: 2 }, { FleetContext: 2 })).toEqual([]);
  expect(judgeWhole({ FleetContext: 3 }, { FleetContext: 2 })).toEqual([
    '3 parameters are a whole FleetContext, at most 2: name its fields, as Pick<FleetContext, "db">',
  ]);
  expect(judgeWhole({}, { FleetContext: 2 })).toEqual([
    "0 parameters are a whole FleetContext: lower the limit of 2 in whole-contexts.ts",
  ]);
});
