import { dirname, join, normalize } from "node:path";
import { Glob, Transpiler } from "bun";
import type { Layer } from "./layer.ts";
import { LAYERS } from "./layers.ts";
import { ROOMS, type Room } from "./rooms.ts";
import { checkContexts } from "./whole-contexts.ts";

/** Holds every import against the tables of rooms.ts and layers.ts. */

export const roomOf = (file: string): Room | null =>
  ROOMS.find(({ name }) => file === name || file.startsWith(`${name}/`)) ?? null;

export const layerOf = (file: string): Layer | null =>
  LAYERS.find((layer) => layer.files.test(file)) ?? null;

const ALIAS = /^#(shared|hub|worker|drizzle|test)\//;

/** The imported file relative to the root, or null for a package. */
function resolveSpecifier(file: string, specifier: string): string | null {
  if (ALIAS.test(specifier)) return specifier.slice(1);
  if (specifier.startsWith(".")) return normalize(join(dirname(file), specifier));
  return null;
}

const packageOf = (specifier: string): string =>
  specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");

const isCode = (path: string): boolean => /\.tsx?$/.test(path);

/** What a file imports, types or not, against the rule for rooms. */
export function judgeRooms(file: string, specifiers: readonly string[]): string[] {
  const from = roomOf(file);
  if (!from) return [`${file}: belongs to no room`];
  const problems: string[] = [];
  for (const specifier of specifiers) {
    const target = resolveSpecifier(file, specifier);
    if (target === null || !isCode(target)) continue;
    const to = roomOf(target);
    if (!to) problems.push(`${file} (${from.name}) imports ${target}, which belongs to no room`);
    else if (to !== from && !from.may.includes(to.name))
      problems.push(`${file} (${from.name}) must not know ${specifier} (${to.name})`);
  }
  return problems;
}

/** What a file imports at run time, against the rule for layers and packages. */
export function judgeImports(file: string, specifiers: readonly string[]): string[] {
  const from = layerOf(file);
  if (!from) return [`${file}: belongs to no layer`];
  const problems: string[] = [];
  for (const specifier of specifiers) {
    const target = resolveSpecifier(file, specifier);
    if (target === null) {
      if (/^(node:|bun(:|$))/.test(specifier)) continue;
      if (!from.packages.includes(packageOf(specifier)))
        problems.push(`${file} (${from.name}) must not import the package ${specifier}`);
      continue;
    }
    // Text and style imports carry no code.
    if (!isCode(target) || roomOf(target) !== roomOf(file)) continue;
    const to = layerOf(target);
    if (to && to !== from && from.may && !from.may.includes(to.name))
      problems.push(`${file} (${from.name}) must not import ${specifier} (${to.name})`);
  }
  return problems;
}

const codeOf = (file: string, specifiers: readonly string[]): string[] =>
  specifiers.flatMap((specifier) => resolveSpecifier(file, specifier) ?? []).filter(isCode);

/** Files that import each other, types included, one line for each circle. */
export function circles(imported: ReadonlyMap<string, readonly string[]>): string[] {
  const done = new Set<string>();
  const path: string[] = [];
  const found: string[] = [];
  const visit = (file: string): void => {
    const at = path.indexOf(file);
    if (at >= 0) found.push(`a circle of imports: ${[...path.slice(at), file].join(" → ")}`);
    if (at >= 0 || done.has(file)) return;
    path.push(file);
    for (const next of imported.get(file) ?? []) visit(next);
    path.pop();
    done.add(file);
  };
  for (const file of imported.keys()) visit(file);
  return found;
}

const TYPE_IMPORTS = /^(?:import|export) type [^;]*? from "([^"]+)";/gm;

/** Every violation below `root`, one line each. */
export async function checkLayers(root: string): Promise<string[]> {
  const transpiler = {
    ts: new Transpiler({ loader: "ts" }),
    tsx: new Transpiler({ loader: "tsx" }),
  };
  const files = await Array.fromAsync(
    new Glob("{hub,worker,shared,drizzle}/**/*.{ts,tsx}").scan(root),
  );
  const problems: string[] = [];
  const imported = new Map<string, string[]>();
  for (const file of files.filter((f) => !f.endsWith(".d.ts")).sort()) {
    const source = await Bun.file(join(root, file)).text();
    const scanned = transpiler[file.endsWith("x") ? "tsx" : "ts"].scanImports(source);
    const imports = scanned.map(({ path }) => path);
    const types = [...source.matchAll(TYPE_IMPORTS)].map(([, path = ""]) => path);
    problems.push(...judgeRooms(file, [...imports, ...types]), ...judgeImports(file, imports));
    imported.set(file, codeOf(file, [...imports, ...types]));
  }
  return [...problems, ...circles(imported)];
}

if (import.meta.main) {
  const root = join(import.meta.dir, "..");
  const problems = [...(await checkLayers(root)), ...(await checkContexts(root))];
  for (const problem of problems) console.error(problem);
  process.exit(problems.length > 0 ? 1 : 0);
}
