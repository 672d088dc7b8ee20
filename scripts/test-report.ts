import { createEnds } from "#shared/kit/ends.ts";

/** A test that failed, or something outside the tests that did. */
export interface Failure {
  file: string;
  /** Names of the `describe`s around it and its own; what failed outside a test says so. */
  name: string;
  /** Message and place, at most `MAX_LINES` lines. */
  text: string;
}

export interface Report {
  passed: number;
  failed: number;
  skipped: number;
  failures: Failure[];
}

const MAX_LINES = 30;
const MAX_LINE = 300;

const ENTITIES: Record<string, string> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };

function unescapeXml(text: string): string {
  return text.replace(/&(?:#(\d+)|#x([0-9a-f]+)|(\w+));/gi, (all, decimal, hex, name) => {
    if (decimal) return String.fromCodePoint(Number(decimal));
    if (hex) return String.fromCodePoint(Number.parseInt(hex, 16));
    return ENTITIES[name] ?? all;
  });
}

/** The beginning and the end: a difference of thousands of lines would bury the other failures. */
function shorten(text: string): string {
  const lines = text.split("\n").map((line) => line.slice(0, MAX_LINE));
  const left_out = lines.length - MAX_LINES;
  if (left_out <= 0) return lines.join("\n");
  const half = MAX_LINES / 2;
  return [...lines.slice(0, half), `[… ${left_out} lines …]`, ...lines.slice(-half)].join("\n");
}

const attribute = (tag: string, name: string): string =>
  unescapeXml(new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1] ?? "");

function failureOf(testcase: string, failure: string): Failure {
  // Bun lists the `describe`s from the inside out.
  const around = attribute(testcase, "classname").split(" > ").filter(Boolean).toReversed();
  const said = />([^<]*)<\/failure>/.exec(failure)?.[1] ?? "";
  const text = unescapeXml(said).trim() || attribute(failure, "message");
  return {
    file: attribute(testcase, "file"),
    name: [...around, attribute(testcase, "name")].join(" > "),
    text: shorten(text),
  };
}

/** Counts and failures of a JUnit report as `bun test` writes it; null when the run ended before it was written. */
export function readJunit(report: string): Report | null {
  const root = /<testsuites\b[^>]*>/.exec(report)?.[0];
  if (!root) return null;
  const count = (name: string) => Number(attribute(root, name));
  const failed = count("failures") + count("errors");
  const skipped = count("skipped");
  const failures: Failure[] = [];
  for (const [, testcase = "", self_closed, inside = ""] of report.matchAll(
    /<testcase\b((?:[^>"]|"[^"]*")*?)(\/)?>(?:(?<!\/>)([\s\S]*?)<\/testcase>)?/g,
  )) {
    const failure = self_closed ? null : /<(?:failure|error)\b[\s\S]*/.exec(inside)?.[0];
    if (failure) failures.push(failureOf(testcase, failure));
  }
  return { failed, skipped, passed: count("tests") - failed - skipped, failures };
}

const STRAY = "# Unhandled error between tests";
const TAIL_BYTES = 4_096;

export interface Watched {
  /** Errors outside of tests, such as a file that could not be loaded: no report holds them. */
  strays: Failure[];
  /** The last that was said so far, for a run that did not come to its end. */
  tail(): string;
  /** Resolves when the output ends, which a process that was left running keeps open. */
  ended: Promise<void>;
}

/** Passes what `bun test` says on to `write`, and keeps what its report will not hold. */
export function watchOutput(
  output: ReadableStream<Uint8Array>,
  write: (bytes: Uint8Array) => unknown,
): Watched {
  const strays: Failure[] = [];
  const tail = createEnds(TAIL_BYTES);
  const decoder = new TextDecoder();
  let file = "";
  /** Lines of the stray error under way: it stands between two rules. */
  let stray: string[] | null = null;
  let rest = "";
  const takeLine = (line: string) => {
    if (line.startsWith(STRAY)) stray = [];
    else if (stray === null) file = /^(\S+\.test\.ts):$/.exec(line)?.[1] ?? file;
    else if (!/^-{10,}$/.test(line)) stray.push(line);
    else if (stray.length > 0) {
      strays.push({ file, name: "outside of a test", text: shorten(stray.join("\n")) });
      stray = null;
    }
  };
  const follow = async () => {
    for await (const bytes of output) {
      write(bytes);
      tail.push(bytes);
      const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) takeLine(line);
    }
  };
  return { strays, tail: () => tail.last(TAIL_BYTES), ended: follow() };
}

/** What failed, for the end of a log whose middle may be cut away. */
export function describeFailures(failures: readonly Failure[]): string {
  return failures
    .map(({ file, name, text }) => {
      const lines = text.split("\n").map((line) => `    ${line}`.trimEnd());
      return [`FAIL ${file}: ${name}`, ...lines].join("\n");
    })
    .join("\n\n");
}
