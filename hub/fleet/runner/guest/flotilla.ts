/**
 * The module `flotilla` of scripts (rules/scripts#script-module): the job's browser session, what the job asks for, and
 * where its findings go. Runs in the sandbox; `hub/fleet/runner/script-api.ts` documents it for authors.
 */
import type { ScriptArguments } from "../script-arguments.ts";
import { argsOf, isOptions } from "./arguments.ts";
import { call, type Refusal } from "./door.ts";

const read = await Bun.file(`${import.meta.dir}/job.json`).json();

/** What the script runs for. */
export const job: { url: string; goal: string | null } = { url: read.url, goal: read.goal };
export const goal: string = read.goal ?? "";

/** What the page or the hub refused; `name` is that of the action's error, such as TimeoutError. */
export class SessionError extends Error {
  /** The action, or `save`, `log`. */
  readonly action: string;
  /** `invalid` (the page or the arguments), `timed_out`, `not_found` (the session is gone), … */
  readonly kind: string;
  /** Where the script made the call. */
  declare readonly called_at: string;
  constructor(action: string, { name, message, kind }: Refusal, called_at: string) {
    super(message);
    this.name = name;
    this.action = action;
    this.kind = kind;
    Object.defineProperty(this, "called_at", { value: called_at, enumerable: false });
  }
}

async function through(
  name: string,
  header: Record<string, unknown>,
  body: Uint8Array | string,
): Promise<unknown> {
  // Taken here: after an await the frames of the script are no longer on the stack.
  const called_at = new Error().stack ?? "";
  try {
    return await call(header, body);
  } catch (refusal) {
    throw new SessionError(name, refusal as Refusal, called_at);
  }
}

/** How the arguments of each action may be given. */
const ACTIONS: Record<string, ScriptArguments> = read.actions;

const act = async (action: string, takes: ScriptArguments, given: unknown[]): Promise<unknown> => {
  const args = argsOf(action, takes, given);
  const { result } = (await through(action, { op: "act", action }, JSON.stringify(args))) as {
    result: unknown;
  };
  if (!isOptions(result) || typeof result.content_base64 !== "string") return result;
  const { content_base64, ...rest } = result;
  const bytes = new Uint8Array(Buffer.from(content_base64, "base64"));
  // A picture or a document is its bytes, as save() takes them; a download has a name too.
  return "name" in rest ? { ...rest, bytes } : bytes;
};

/** One method per action; each resolves to the action's result and throws SessionError. */
export const session: Record<string, (...args: unknown[]) => Promise<unknown>> = Object.freeze(
  Object.fromEntries(
    Object.entries(ACTIONS).map(([action, takes]) => [
      action,
      (...args: unknown[]) => act(action, takes, args),
    ]),
  ),
);

async function bytesOf(data: unknown): Promise<{ body: Uint8Array | string; mime: string | null }> {
  if (typeof data === "string") return { body: data, mime: null };
  if (data instanceof Blob) return { body: await data.bytes(), mime: data.type || null };
  if (data instanceof ArrayBuffer) return { body: new Uint8Array(data), mime: null };
  if (ArrayBuffer.isView(data))
    return { body: new Uint8Array(data.buffer, data.byteOffset, data.byteLength), mime: null };
  const json = JSON.stringify(data, null, 2);
  if (json === undefined) throw new TypeError("save(name, data): data is no text, bytes or JSON");
  return { body: json, mime: "application/json" };
}

/** Stores text, bytes or a JSON value as an asset of the job. */
export async function save(
  name: string,
  data: unknown,
  options: { mime?: string } = {},
): Promise<unknown> {
  const { body, mime } = await bytesOf(data);
  return through("save", { op: "save", name: String(name), mime: options.mime ?? mime }, body);
}

const LEVELS = ["debug", "info", "warn", "error"];

/** A line of the job's story. Options: `level`, and fields of the author's. */
function tell(level: string, parts: unknown[]): Promise<unknown> {
  const last = parts.at(-1);
  const fields = parts.length > 1 && isOptions(last) ? last : {};
  const words = fields === last ? parts.slice(0, -1) : parts;
  const message = words
    .map((part) => (typeof part === "string" ? part : Bun.inspect(part)))
    .join(" ");
  return through("log", { op: "log", level }, JSON.stringify({ message, fields }));
}
export const log = Object.assign(
  (...parts: unknown[]) => tell("info", parts),
  Object.fromEntries(LEVELS.map((level) => [level, (...parts: unknown[]) => tell(level, parts)])),
);

/** Imported as text by the hub. */
// biome-ignore lint/style/noDefaultExport: the type of a text import is its default export
export default "flotilla" as string;
