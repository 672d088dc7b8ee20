/**
 * The module `flotilla` of scripts (rules/scripts#script-module): the job's browser session, what the job asks for, and where
 * its findings go. Runs in the sandbox; what it offers is told to authors in `hub/fleet/runner/script-api.ts`.
 */
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

type Args = Record<string, unknown>;

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

const isOptions = (value: unknown): value is Args =>
  typeof value === "object" &&
  value !== null &&
  !Array.isArray(value) &&
  !ArrayBuffer.isView(value);

/** Names of what may be given by position, by action. Those that are not here take options alone. */
type Positions = (args: unknown[]) => string[];
const fixed =
  (...names: string[]): Positions =>
  () =>
    names;
const POSITIONS: Record<string, Positions> = {
  navigate: fixed("url"),
  click: (args) => (typeof args[0] === "number" ? ["x", "y"] : ["selector"]),
  fill: fixed("selector", "text"),
  // As Playwright's keyboard with one text, as its page with two.
  type: (args) => (typeof args[1] === "string" ? ["selector", "text"] : ["text"]),
  press: (args) => (typeof args[1] === "string" ? ["selector", "key"] : ["key"]),
  hover: fixed("selector"),
  drag_and_drop: fixed("source", "target"),
  mouse: fixed("op", "x", "y"),
  select_option: fixed("selector", "values"),
  check: fixed("selector"),
  uncheck: fixed("selector"),
  scroll: (args) => [typeof args[0] === "number" ? "amount" : "selector"],
  wait: ([first]) => {
    if (typeof first === "number") return ["seconds"];
    const states = ["load", "domcontentloaded", "networkidle"];
    return [states.includes(String(first)) ? "load_state" : "selector"];
  },
  evaluate: fixed("code", "arg"),
  set_input_files: fixed("selector", "files"),
  text: fixed("selector"),
  markdown: fixed("selector"),
  tab: (args) => (typeof args[1] === "string" ? ["op", "url"] : ["op", "index"]),
  dialog: fixed("op", "prompt_text"),
  read_download: fixed("name"),
  keepalive: fixed("idle_ttl_s"),
  recipe: fixed("actions"),
  ask: fixed("prompt"),
  agent: fixed("goal"),
};

/** Where an object is a value and no options: the page's argument, a file. */
const OBJECT_AT: Record<string, number> = { evaluate: 1, set_input_files: 1 };

/** `click("a", {button})`, `click({selector: "a", button})`: options are the last argument, in whatever form. */
function argsOf(action: string, given: unknown[]): Args {
  const names = POSITIONS[action]?.(given) ?? [];
  const args: Args = {};
  for (const [i, value] of given.entries()) {
    const named = i < names.length && (!isOptions(value) || i === OBJECT_AT[action]);
    if (named) args[names[i] as string] = value;
    else if (isOptions(value)) Object.assign(args, value);
    else if (value !== undefined)
      throw new TypeError(`session.${action} takes ${names.join(", ") || "no values"} and options`);
  }
  return shaped(action, args);
}

function shaped(action: string, args: Args): Args {
  if (typeof args.code === "function") args.code = String(args.code);
  if (action === "select_option" && typeof args.values === "string") args.values = [args.values];
  if (action === "set_input_files") {
    const files = Array.isArray(args.files) ? args.files : [args.files];
    args.files = files.map(({ content, ...file }) =>
      content === undefined
        ? file
        : { ...file, content_base64: Buffer.from(content).toString("base64") },
    );
  }
  return args;
}

const act = async (action: string, given: unknown[]): Promise<unknown> => {
  const args = argsOf(action, given);
  const { result } = (await through(action, { op: "act", action }, JSON.stringify(args))) as {
    result: unknown;
  };
  if (!isOptions(result) || typeof result.content_base64 !== "string") return result;
  const { content_base64, ...rest } = result;
  const bytes = new Uint8Array(Buffer.from(content_base64, "base64"));
  // A picture or a document is its bytes, as save() takes them; a download has a name too.
  return action === "read_download" ? { ...rest, bytes } : bytes;
};

/** One method per action; each resolves to the action's result and throws SessionError. */
export const session: Record<string, (...args: unknown[]) => Promise<unknown>> = Object.freeze(
  Object.fromEntries(
    read.actions.map((action: string) => [action, (...args: unknown[]) => act(action, args)]),
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
