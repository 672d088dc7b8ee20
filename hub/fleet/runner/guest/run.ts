/**
 * Runs the script beside it and says how it ended. Runs in the sandbox, as the program that is started there.
 */
import { call, idle } from "./door.ts";
import { goal, job, log, SessionError, save, session } from "./flotilla.ts";

const SCRIPT = `${import.meta.dir}/script.ts`;
const MAX_STACK_LINES = 20;
const MAX_RESULT_BYTES = 1024 * 1024;

interface Thrown {
  name: string;
  message: string;
  line: number | null;
  stack: string;
}

/** Lines of a stack that are the script's own, and the number of the first. */
function placeOf(stack: string): { line: number | null; stack: string } {
  const own = stack.split("\n").filter((line) => line.includes(SCRIPT));
  const at = own[0]?.slice(own[0].indexOf(SCRIPT) + SCRIPT.length);
  const line = Number(/^:(\d+)/.exec(at ?? "")?.[1]);
  return {
    line: line > 0 ? line : null,
    stack: own
      .slice(0, MAX_STACK_LINES)
      .map((entry) => entry.replaceAll(SCRIPT, "script.ts").trim())
      .join("\n"),
  };
}

const MAX_MESSAGE = 20_000;
const shortened = (text: unknown): string => String(text).slice(0, MAX_MESSAGE);

// biome-ignore lint/suspicious/noExplicitAny: a script may throw anything
function describe(error: any): Thrown {
  // What the runtime could not parse or resolve: one of them, or several.
  const problem = error?.position
    ? error
    : error?.errors?.find?.((e: Thrown & { position?: unknown }) => e?.position);
  if (problem?.position) {
    const { line = null, lineText = "" } = problem.position;
    const name = problem.name === "BuildMessage" ? "SyntaxError" : String(problem.name);
    return {
      name,
      message: shortened(problem.message),
      line,
      stack: `script.ts:${line}: ${lineText}`,
    };
  }
  if (error instanceof Error) {
    const { called_at } = error as { called_at?: string };
    const place = placeOf(called_at ?? String(error.stack ?? ""));
    return { name: shortened(error.name), message: shortened(error.message), ...place };
  }
  return {
    name: "Error",
    message: shortened(`thrown: ${Bun.inspect(error)}`),
    line: null,
    stack: "",
  };
}

const FLUSH_MS = 5_000;
/** Resolves when all output is written; in this runtime, only ending a stream shows that. */
const flushed = (stream: NodeJS.WriteStream) =>
  new Promise<void>((resolve) => {
    setTimeout(resolve, FLUSH_MS);
    stream.end(() => resolve());
  });

let over = false;
async function end(outcome: { result: string } | { error: Thrown }): Promise<never> {
  if (!over) {
    over = true;
    if ("error" in outcome) {
      const { name, message, stack } = outcome.error;
      process.stderr.write(`${name}: ${message}\n${stack}\n`);
    }
    const body = "result" in outcome ? outcome.result : JSON.stringify(outcome.error);
    await call({ op: "end", ok: "result" in outcome }, body).catch(() => {});
    await Promise.all([flushed(process.stdout), flushed(process.stderr)]);
    process.exit("error" in outcome ? 1 : 0);
  }
  return new Promise<never>(() => {});
}
const fail = (error: unknown) => end({ error: describe(error) });

process.on("unhandledRejection", fail);
process.on("uncaughtException", fail);

/** @throws TypeError, RangeError when it is not JSON, or too long. */
function jsonOf(value: unknown): string {
  const text = JSON.stringify(value ?? null) ?? "null";
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_RESULT_BYTES)
    throw new RangeError(
      `the result has ${bytes} bytes of JSON, more than ${MAX_RESULT_BYTES}; store it with save(name, data)`,
    );
  return text;
}

try {
  const loaded = await import(SCRIPT);
  let value = await loaded.default;
  if (typeof value === "function")
    value = await value({ session, goal, job, save, log, SessionError });
  // Calls that nobody awaits are part of the script all the same.
  await idle();
  const result = jsonOf(value);
  await end({ result });
} catch (error) {
  await fail(error);
}

/** Imported as text by the hub. */
// biome-ignore lint/style/noDefaultExport: the type of a text import is its default export
export default "run" as string;
