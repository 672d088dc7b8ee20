import { beforeAll, expect, test } from "bun:test";
import { type AppBundle, bundleApp, packApp, unpackApp } from "#hub/ui/bundle.ts";

/** The admin UI's files (fleet spec §1): what a browser loads before it shows anything. */

let app: AppBundle;
beforeAll(async () => {
  app = await bundleApp();
});

const gzipOf = (names: readonly string[]): number =>
  app.files
    .filter(({ name }) => names.includes(name))
    .reduce((sum, { gzip }) => sum + gzip.length, 0);
const text = (name: string): string =>
  new TextDecoder().decode(
    Bun.gunzipSync(app.files.find((file) => file.name === name)?.gzip ?? new Uint8Array()),
  );

test("the first scripts are at most 400 KB, packed", () => {
  const bytes = gzipOf([app.entry, ...app.preload]);
  console.log(`first scripts ${bytes} bytes, first styles ${gzipOf(app.styles)} bytes, packed`);
  expect(bytes).toBeGreaterThan(50_000);
  expect(bytes).toBeLessThanOrEqual(400_000);
});

const scriptsWith = (part: string): string[] =>
  app.files
    .map(({ name }) => name)
    .filter((name) => name.endsWith(".js") && text(name).includes(part));

test("graphs and charts are in files of pages that are opened later, and schemas in none", () => {
  const first = [app.entry, ...app.preload];
  for (const part of ["react-flow__", "u-legend"]) {
    expect(scriptsWith(part).length).toBeGreaterThan(0);
    expect(scriptsWith(part).filter((name) => first.includes(name))).toEqual([]);
  }
  expect(scriptsWith("ZodError")).toEqual([]);
});

test("no file names another origin to load from", () => {
  for (const { name } of app.files.filter((file) => file.name.endsWith(".css")))
    expect(text(name)).not.toMatch(/url\(\s*["']?(https?:)?\/\//);
});

test("what is packed for the binary is unpacked the same", () => {
  expect(unpackApp(packApp(app))).toEqual(app);
});
