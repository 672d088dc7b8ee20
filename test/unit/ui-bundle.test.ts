import { beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type AppBundle, bundleApp, packApp, unpackApp } from "#hub/ui/bundle.ts";
import { shellPage } from "#hub/ui/shell.ts";

/** The admin UI's files (rules/web-app#in-the-program): what a browser loads before it shows anything. */

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

test("the files of every page are known, so that the page names them", () => {
  const sources = readFileSync(join(import.meta.dir, "../../hub/ui/client/pages.tsx"), "utf8");
  const paths = [...sources.matchAll(/path: "([^"]+)"/g)].map(([, path = ""]) => path);
  expect(paths.length).toBeGreaterThan(20);
  expect(app.pages.map(({ path }) => path)).toEqual(paths);
  const names = app.files.map(({ name }) => name);
  for (const { path, files } of app.pages) {
    expect([path, files.length > 0]).toEqual([path, true]);
    expect(files.filter((name) => !names.includes(name) || app.preload.includes(name))).toEqual([]);
  }
});

test("the page of an address names the scripts of that page and of no other", () => {
  const filesOf = (path: string) => app.pages.find((page) => page.path === path)?.files ?? [];
  const info = { mode: "hub", version: "0", fleet: true };
  const named = (path: string, fleet = true) => {
    const html = shellPage(app, { info: { ...info, fleet }, nonce: "n", path, colors: null });
    return [...html.matchAll(/modulepreload" href="\/ui\/assets\/([^"]+)/g)].map(
      ([, name]) => name,
    );
  };
  const first = [...app.preload, app.entry];
  expect(named("/ui/captures")).toEqual([...first, ...filesOf("/ui/captures")]);
  expect(named("/ui/captures/x1")).toEqual([...first, ...filesOf("/ui/captures/:job_id")]);
  expect(named("/")).toEqual([...first, ...filesOf("/ui/home")]);
  expect(named("/", false)).toEqual([...first, ...filesOf("/ui/home")]);
  expect(named("/ui/nothing/of/it")).toEqual(first);
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

test("the player of recordings comes with no page: it is loaded where one is played", () => {
  const player = scriptsWith("RFB 003.008");
  expect(player.length).toBeGreaterThan(0);
  const named = [app.entry, ...app.preload, ...app.pages.flatMap(({ files }) => files)];
  expect(player.filter((name) => named.includes(name))).toEqual([]);
  // Its licence wants to be told.
  expect(player.some((name) => text(name).includes("Holds noVNC, MPL-2.0"))).toBe(true);
});

test("before any script the ground is the system's, in the colours that the app has in the dark", () => {
  const css = app.styles.map(text).join("\n");
  const valuesIn = (block: RegExp) =>
    Object.fromEntries(
      [
        ...(block.exec(css)?.[1] ?? "").matchAll(/(--(?!buncss)[\w-]+|color-scheme): ?([^;}]+)/g),
      ].map(([, name, value]) => [name, value?.trim()]),
    );
  const dark = valuesIn(/\[data-mantine-color-scheme="?dark"?\] ?\{([^}]*--bg-side[^}]*)\}/);
  const first = valuesIn(/:root:not\(\[data-mantine-color-scheme\]\) ?\{([^}]*)\}/);
  expect(Object.keys(first)).toEqual(["color-scheme", "--bg", "--text", "--text-2"]);
  expect(dark).toMatchObject(first);
});

test("no file names another origin to load from", () => {
  for (const { name } of app.files.filter((file) => file.name.endsWith(".css")))
    expect(text(name)).not.toMatch(/url\(\s*["']?(https?:)?\/\//);
});

test("what is packed for the binary is unpacked the same", () => {
  expect(unpackApp(packApp(app))).toEqual(app);
});
