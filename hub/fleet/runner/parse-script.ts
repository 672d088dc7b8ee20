import type { parse } from "@babel/parser";

/** Nodes of the parser's tree, of which the checks look at a few dozen kinds. */
export interface ScriptNode {
  type: string;
  start: number;
  end: number;
  loc: { start: { line: number } };
  // biome-ignore lint/suspicious/noExplicitAny: each kind has members of its own
  [member: string]: any;
}

export interface ParsedScript {
  /** Top-level statements; empty when it cannot be parsed at all. */
  body: ScriptNode[];
  /** What is wrong with its grammar; lines count from 1. */
  errors: { line: number | null; message: string }[];
}

let parser: { parse: typeof parse } | undefined;

/** Loaded at first use: most hubs never run a script, and it is half a megabyte. */
const loadParser = () => {
  parser ??= require("@babel/parser") as { parse: typeof parse };
  return parser;
};

/** Parses TypeScript as the runtime does it. Never throws. */
export function parseScript(code: string): ParsedScript {
  try {
    const file = loadParser().parse(code, {
      sourceType: "module",
      plugins: ["typescript"],
      errorRecovery: true,
      allowReturnOutsideFunction: false,
    });
    const errors = (file.errors ?? []).map((err) => problemOf(err));
    return { body: file.program.body as unknown as ScriptNode[], errors };
  } catch (err) {
    return { body: [], errors: [problemOf(err)] };
  }
}

function problemOf(err: unknown): { line: number | null; message: string } {
  const { message, loc } = err as { message?: string; loc?: { line: number } };
  // The parser adds its own "(line:column)".
  return { line: loc?.line ?? null, message: String(message).replace(/ \(\d+:\d+\)$/, "") };
}

/** Members that say where a node is and nothing about the script. */
const PLACE = new Set(["loc", "start", "end", "range", "extra", "type", "errors"]);
const isComments = (name: string) => name.endsWith("Comments") || name === "comments";

export function childrenOfNode(node: ScriptNode): { name: string; child: ScriptNode }[] {
  const children: { name: string; child: ScriptNode }[] = [];
  for (const [name, value] of Object.entries(node)) {
    if (PLACE.has(name) || isComments(name)) continue;
    for (const child of Array.isArray(value) ? value : [value])
      if (typeof child?.type === "string") children.push({ name, child });
  }
  return children;
}
