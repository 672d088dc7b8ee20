import { copyFile, mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "./build.ts";
import { runTool } from "./run-tool.ts";

/** The npm package `flotilla`: the client of shared/client as one module, with its types written out. */

const CLIENT = join(ROOT, "shared/client");
const PACKAGE = join(ROOT, "dist/client");
const COMPILE_MS = 300_000;
/** `AbortSignal.any`. */
const OLDEST_NODE = ">=20.3";

/** A directory that `bun pm pack` and `npm pack` make the package of. */
export async function buildClient(out = PACKAGE): Promise<void> {
  await rm(out, { recursive: true, force: true });
  await mkdir(join(out, "types"), { recursive: true });
  await bundle(out);
  await writeTypes(join(out, "types"));
  await Bun.write(join(out, "package.json"), `${JSON.stringify(await manifest(), null, 2)}\n`);
  await copyFile(join(CLIENT, "README.md"), join(out, "README.md"));
  await copyFile(join(ROOT, "LICENSE"), join(out, "LICENSE"));
}

async function manifest() {
  const { name, version, license } = await Bun.file(join(ROOT, "package.json")).json();
  return {
    name,
    version,
    description: "The client of a Flotilla hub",
    license,
    type: "module",
    sideEffects: false,
    engines: { node: OLDEST_NODE },
    exports: { ".": { types: "./types/index.d.ts", default: "./index.js" } },
    types: "./types/index.d.ts",
    files: ["index.js", "types"],
  };
}

async function bundle(out: string): Promise<void> {
  const built = await Bun.build({
    entrypoints: [join(CLIENT, "index.ts")],
    outdir: out,
    target: "node",
    format: "esm",
  });
  if (!built.success) throw new AggregateError(built.logs, "the client was not built");
}

/**
 * The compiler writes the declarations of the client's files. Those of client-types.ts would lead to every schema and to zod: in
 * their place each type is written out, as the compiler shows it where nothing names it.
 */
async function writeTypes(out: string): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), "flotilla-types-"));
  try {
    const names = exportedTypes(await readFile(join(CLIENT, "client-types.ts"), "utf8"));
    await Bun.write(join(dir, "written-out.ts"), asValues(names));
    await Bun.write(join(dir, "tsconfig.json"), JSON.stringify(compilerOptions(dir)));
    const tsc = [join(ROOT, "node_modules/.bin/tsc"), "-p", dir];
    const { ok, output } = await runTool("types", tsc, ROOT, COMPILE_MS);
    if (!ok) throw new Error(`the client's types were not written: ${output}`);
    const written = join(dir, "out", dir, "written-out.d.ts");
    await Bun.write(
      join(out, "client-types.d.ts"),
      asTypes(await readFile(written, "utf8"), names),
    );
    const declared = join(dir, "out", CLIENT);
    for (const name of await readdir(declared))
      if (name !== "client-types.d.ts")
        await Bun.write(
          join(out, name),
          ofPackage(name, await readFile(join(declared, name), "utf8")),
        );
  } finally {
    await rm(dir, { recursive: true });
  }
}

const compilerOptions = (dir: string) => ({
  extends: join(ROOT, "tsconfig.json"),
  compilerOptions: {
    noEmit: false,
    declaration: true,
    emitDeclarationOnly: true,
    noErrorTruncation: true,
    // Whoever takes the package may have neither Bun's types nor those of Node.
    types: [join(ROOT, "node_modules/bun-types")],
    rootDir: "/",
    outDir: join(dir, "out"),
  },
  include: [],
  files: [join(dir, "written-out.ts"), join(CLIENT, "index.ts")],
});

function exportedTypes(source: string): string[] {
  const own = [...source.matchAll(/^export type (\w+) =/gm)].map(([, name = ""]) => name);
  const passed_on = [...source.matchAll(/^export type \{([^}]*)\} from/gm)];
  const names = passed_on.flatMap(([, list = ""]) => list.split(",").map((name) => name.trim()));
  return [...own, ...names].filter((name) => name !== "").sort();
}

const asValues = (names: string[]): string =>
  [
    `import type * as T from ${JSON.stringify(join(CLIENT, "client-types.ts"))};`,
    // A type that has a name is shown by its name, and this one has none.
    "declare const of: <T>() => { [K in keyof T]: T[K] };",
    ...names.map((name) => `export const ${name} = of<T.${name}>();`),
  ].join("\n");

/** @throws Error naming what the compiler did not write out */
function asTypes(declarations: string, names: string[]): string {
  const text = declarations
    .replace(/^import type \* as T from .*\n/m, "")
    .replace(/^export declare const (\w+): /gm, "export type $1 = ")
    .replaceAll(/\b(?:T|import\("[^"]+"\))\.(\w+)/g, (named, name) =>
      names.includes(name) ? name : named,
    );
  const left = /^(import|declare) .*|\b(?:import\(|T\.).*|^export type (\w+) = \2;/m.exec(text);
  if (left !== null) throw new Error(`a type of the client is not written out: ${left[0]}`);
  return text;
}

/** How the calls are sent is no part of the package: its methods have types of their own, which the compiler has compared. */
const SOME_OPERATIONS = `export interface Operations {
    [operation: string]: { answer: unknown; refusals: Record<number, unknown> };
}
`;

/** @throws Error naming what leads out of the package */
function ofPackage(name: string, declarations: string): string {
  if (name === "operations.gen.d.ts") return SOME_OPERATIONS;
  const outside = /from "(?!\.\/)[^"]+"|import\("(?!\.\/)[^"]+"\)/.exec(declarations);
  if (outside !== null) throw new Error(`${name} leads out of the package: ${outside[0]}`);
  const text = declarations.replaceAll(/(["'])(\.\/[\w.-]+)\.ts\1/g, "$1$2.js$1");
  return name === "index.d.ts" ? `/// <reference lib="esnext.disposable" />\n${text}` : text;
}

if (import.meta.main) {
  await buildClient();
  console.log(`dist/client: ${(await manifest()).name} ${(await manifest()).version}`);
}
