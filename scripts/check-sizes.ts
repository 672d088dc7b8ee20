import { join } from "node:path";
import { parse } from "@babel/parser";
import { Glob } from "bun";
import { LONG_FILES, LONG_FUNCTIONS } from "./long-parts.ts";

/** Holds files, tests as well, and functions to a length that a reader can keep in mind. What is longer is listed, and may only shrink. */

const MOST_LINES = { file: 400, function: 70, median: 90 };
/**
 * Lines of tests for each line of the product: hub, worker, shared and drizzle, without what is generated. The app in the
 * browser is counted by itself, because most of it is markup, and one test walks through many pages.
 */
const LEAST_TESTS = { program: 0.77, app: 0.24 };
const APP = /^hub\/ui\/client\//;
const TESTS_OF_APP = /^test\/(ui\/|unit\/ui-)/;

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

const isLiteral = (node: unknown): boolean => isNode(node) && node.type === "ObjectExpression";

/** Object literals that are spread into another one: they say nothing, and hide lines from the limits. */
const spreadLiterals = ({ type, properties }: Node): Node[] =>
  type === "ObjectExpression"
    ? (properties as Node[]).filter(
        (one) => one.type === "SpreadElement" && isLiteral(one.argument),
      )
    : [];

/** Every function of `text` with its lines, of several with one name the longest; and every spread literal. */
export function readParts(file: string, text: string): { functions: Lengths; spreads: string[] } {
  const found: Lengths = {};
  const spreads: string[] = [];
  const visit = (node: Node, owner: string): void => {
    const name = nameOf(node) ?? owner;
    for (const { loc } of spreadLiterals(node))
      spreads.push(`${file}:${loc.start.line}: name the fields instead of spreading a literal`);
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
  return { functions: found, spreads };
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

export function medianOf(lengths: readonly number[]): number {
  const sorted = lengths.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(middle)] ?? 0) + (sorted[Math.ceil(middle)] ?? 0)) / 2;
}

/** What is wrong with the whole, by the lengths of all files of the product, of scripts and of tests. */
export function judgeWhole(sources: Lengths, tests: Lengths): { said: string; problems: string[] } {
  const sum = (lengths: readonly number[]) => lengths.reduce((all, lines) => all + lines, 0);
  const linesOf = (of: Lengths, takes: (file: string) => boolean) =>
    sum(
      Object.entries(of)
        .filter(([file]) => takes(file))
        .map(([, lines]) => lines),
    );
  const median = medianOf(Object.values(sources));
  const shares = {
    program:
      linesOf(tests, (file) => !TESTS_OF_APP.test(file)) /
      linesOf(sources, (file) => !APP.test(file) && !file.startsWith("scripts/")),
    app:
      linesOf(tests, (file) => TESTS_OF_APP.test(file)) /
      linesOf(sources, (file) => APP.test(file)),
  };
  const problems = [];
  if (median > MOST_LINES.median)
    problems.push(`half of the files have more than ${median} lines; at most ${MOST_LINES.median}`);
  for (const part of ["program", "app"] as const)
    if (shares[part] < LEAST_TESTS[part])
      problems.push(
        `tests have ${shares[part].toFixed(3)} of the ${part}'s lines; at least ${LEAST_TESTS[part]}`,
      );
  const longest = Math.max(...Object.values(sources));
  return {
    said: `${Object.keys(sources).length} files, median ${median} lines, longest ${longest}; tests ${shares.program.toFixed(2)} of the program, ${shares.app.toFixed(2)} of the app`,
    problems,
  };
}

const GENERATED = /^scripts\/bench\/peers\/|\.gen\.ts$|\.d\.ts$/;

interface Measured {
  files: Lengths;
  functions: Lengths;
  tests: Lengths;
  spreads: string[];
}

const linesOf = async (path: string): Promise<number> =>
  (await Bun.file(path).text()).split("\n").length - 1;

/** Lines of the style sheets and the READMEs below `root`. The guide's pages are as long as their subject. */
async function measureTexts(root: string): Promise<Lengths> {
  const texts: Lengths = {};
  for (const file of await Array.fromAsync(
    new Glob(
      "{README.md,{clients,hub,worker,shared,scripts,drizzle,test}/**/{*.css,README.md}}",
    ).scan(root),
  ))
    if (!file.includes("/node_modules/")) texts[file] = await linesOf(join(root, file));
  return texts;
}

/**
 * The files and functions below `root` that are too long. Functions of components are markup for the most part and are
 * judged by their files, and so are the tests that walk through the pages.
 */
async function measure(root: string): Promise<Measured> {
  const files: Lengths = {};
  const functions: Lengths = {};
  const tests: Lengths = {};
  const spreads: string[] = [];
  for (const file of await Array.fromAsync(
    new Glob("{hub,worker,shared,scripts,drizzle,test}/**/*.{ts,tsx}").scan(root),
  )) {
    if (GENERATED.test(file) || file.includes("/node_modules/")) continue;
    const text = await Bun.file(join(root, file)).text();
    const lines = text.split("\n").length - 1;
    if (file.startsWith("test/")) tests[file] = lines;
    else files[file] = lines;
    if (file.startsWith("test/ui/")) continue;
    const parts = readParts(file, text);
    spreads.push(...parts.spreads);
    if (!file.startsWith("test/") && !APP.test(file)) Object.assign(functions, parts.functions);
  }
  return { files, functions: tooLong(functions, MOST_LINES.function), tests, spreads };
}

if (import.meta.main) {
  const { files: all, functions, tests, spreads } = await measure(join(import.meta.dir, ".."));
  const texts = await measureTexts(join(import.meta.dir, ".."));
  const files = tooLong({ ...all, ...tests, ...texts }, MOST_LINES.file);
  const whole = judgeWhole(all, tests);
  console.log(whole.said);
  if (process.argv.includes("--list")) console.log(JSON.stringify({ files, functions }, null, 2));
  const problems = [
    ...judge(files, LONG_FILES, MOST_LINES.file),
    ...judge(functions, LONG_FUNCTIONS, MOST_LINES.function),
    ...spreads.sort(),
    ...whole.problems,
  ];
  for (const problem of problems) console.error(problem);
  process.exit(problems.length > 0 ? 1 : 0);
}
