import { join } from "node:path";
import { parse } from "@babel/parser";
import { Glob } from "bun";
import { LONG_FILES, LONG_FUNCTIONS } from "./long-parts.ts";

/** Holds files and functions to a length that a reader can keep in mind. What is longer is listed, and may only shrink. */

const MOST_LINES = { file: 400, function: 80 };

/** Lines by `file`, or by `file name` for a function. */
export type Lengths = Record<string, number>;

interface Node {
  type: string;
  loc: { start: { line: number }; end: { line: number } };
  [part: string]: unknown;
}

const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && typeof (value as Node).type === "string";

const FUNCTION =
  /^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression|ObjectMethod|ClassMethod|ClassPrivateMethod)$/;

/** What a declaration, a variable, a property or a method is called. */
const nameOf = ({ id, key }: Node): string | null => {
  const named = isNode(id) ? id : isNode(key) ? key : null;
  return typeof named?.name === "string" ? named.name : null;
};

/** Every function of `text` with its lines; of several with one name the longest. */
export function functionsOf(file: string, text: string): Lengths {
  const found: Lengths = {};
  const visit = (node: Node, owner: string): void => {
    const name = nameOf(node) ?? owner;
    if (FUNCTION.test(node.type)) {
      const key = `${file} ${name}`;
      const lines = node.loc.end.line - node.loc.start.line + 1;
      found[key] = Math.max(found[key] ?? 0, lines);
    }
    for (const part of Object.values(node).flat()) if (isNode(part)) visit(part, name);
  };
  const plugins: ("typescript" | "jsx")[] = file.endsWith("x")
    ? ["typescript", "jsx"]
    : ["typescript"];
  const { program } = parse(text, { sourceType: "module", plugins });
  visit(program as unknown as Node, "(module)");
  return found;
}

const tooLong = (all: Lengths, most: number): Lengths =>
  Object.fromEntries(Object.entries(all).filter(([, lines]) => lines > most));

/** What is longer than the list lets it be, and what the list need not name any more. */
export function judge(found: Lengths, listed: Lengths, most: number): string[] {
  const grown = Object.entries(found)
    .filter(([name, lines]) => lines > (listed[name] ?? most))
    .map(([name, lines]) => `${name} has ${lines} lines; at most ${listed[name] ?? most}`);
  const shrunk = Object.entries(listed)
    .filter(([name, lines]) => (found[name] ?? 0) < lines)
    .map(
      ([name, lines]) => `${name} is listed with ${lines} lines and has ${found[name] ?? "fewer"}`,
    );
  return [...grown, ...shrunk];
}

/** The files and functions below `root` that are too long. Components and tables, which list, are judged by their files alone. */
async function measure(root: string): Promise<{ files: Lengths; functions: Lengths }> {
  const files: Lengths = {};
  const functions: Lengths = {};
  for (const file of await Array.fromAsync(
    new Glob("{hub,worker,shared,scripts,drizzle}/**/*.{ts,tsx}").scan(root),
  )) {
    if (/^scripts\/bench\/peers\/|\.gen\.ts$|\.d\.ts$/.test(file)) continue;
    const text = await Bun.file(join(root, file)).text();
    files[file] = text.split("\n").length - 1;
    if (!/^(hub\/ui|drizzle)\//.test(file)) Object.assign(functions, functionsOf(file, text));
  }
  return {
    files: tooLong(files, MOST_LINES.file),
    functions: tooLong(functions, MOST_LINES.function),
  };
}

if (import.meta.main) {
  const { files, functions } = await measure(join(import.meta.dir, ".."));
  if (process.argv.includes("--list")) console.log(JSON.stringify({ files, functions }, null, 2));
  const problems = [
    ...judge(files, LONG_FILES, MOST_LINES.file),
    ...judge(functions, LONG_FUNCTIONS, MOST_LINES.function),
  ];
  for (const problem of problems) console.error(problem);
  process.exit(problems.length > 0 ? 1 : 0);
}
