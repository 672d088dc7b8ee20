import { extname } from "node:path";
import { errorMessage } from "#shared/kit/errors.ts";
import { readUpTo } from "#shared/kit/read-up-to.ts";
import { UsageError } from "./exit.ts";
import { openInput } from "./open-input.ts";

/** More than the hub takes. */
const MAX_BYTES = 16 * 1024 * 1024;

const PARSERS: Record<string, (text: string) => unknown> = {
  ".yaml": (text) => Bun.YAML.parse(text),
  ".yml": (text) => Bun.YAML.parse(text),
  ".toml": (text) => Bun.TOML.parse(text),
};

/** Pipes have no size before they have ended, so what comes is counted. */
async function readText(file: string): Promise<string> {
  const { bytes, cut } = await readUpTo({ body: await openInput(file) }, MAX_BYTES);
  if (cut) throw new UsageError(`${file} has more than ${MAX_BYTES} bytes`);
  return new TextDecoder().decode(bytes);
}

/**
 * The object of a file: JSON, or YAML or TOML by its ending; `-` is standard input, as JSON. What it may hold, the hub says.
 * @throws UsageError
 */
export async function readBody(file: string): Promise<Record<string, unknown>> {
  const text = await readText(file);
  const parse = PARSERS[extname(file).toLowerCase()] ?? JSON.parse;
  let value: unknown;
  try {
    value = parse(text);
  } catch (err) {
    throw new UsageError(`${file}: cannot be read: ${errorMessage(err)}`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new UsageError(`${file}: must hold one object`);
  return value as Record<string, unknown>;
}
