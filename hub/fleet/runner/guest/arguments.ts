/**
 * Makes the arguments of an action of what a script gives by position and as options (rules/scripts#script-module). Runs in
 * the sandbox, so it imports nothing of the hub; which argument is where comes from the hub's table of actions.
 */
import type { ScriptArguments } from "../script-arguments.ts";

type Args = Record<string, unknown>;

export const isOptions = (value: unknown): value is Args =>
  typeof value === "object" &&
  value !== null &&
  !Array.isArray(value) &&
  !ArrayBuffer.isView(value);

/** The names of what is given by position, in the form that the values have. */
function formOf({ forms }: ScriptArguments, given: unknown[]): string[] {
  const form = forms.find((each) => each.every(({ fits }, i) => isFit(fits, given[i])));
  return (form ?? forms.at(-1) ?? []).map(({ name }) => name);
}

type Fits = ScriptArguments["forms"][number][number]["fits"];
function isFit(fits: Fits, value: unknown): boolean {
  if (fits === null) return true;
  return "values" in fits ? fits.values.includes(value) : fits.types.includes(typeof value);
}

/** `click("a", {button})`, `click({selector: "a", button})`: options are the last argument, in whatever form. */
export function argsOf(action: string, takes: ScriptArguments, given: unknown[]): Args {
  const names = formOf(takes, given);
  const args: Args = {};
  for (const [i, value] of given.entries()) {
    const name = names[i];
    const named = name !== undefined && (!isOptions(value) || name === takes.object);
    if (named) args[name] = value;
    else if (isOptions(value)) Object.assign(args, value);
    else if (value !== undefined)
      throw new TypeError(`session.${action} takes ${names.join(", ") || "no values"} and options`);
  }
  return shaped(takes, args);
}

/** Functions as their text, a single item as a list of it, and files as they travel. */
function shaped({ lists }: ScriptArguments, args: Args): Args {
  if (typeof args.code === "function") args.code = String(args.code);
  for (const name of lists)
    if (args[name] !== undefined && !Array.isArray(args[name])) args[name] = [args[name]];
  if (Array.isArray(args.files))
    args.files = args.files.map(({ content, ...file }) =>
      content === undefined
        ? file
        : { ...file, content_base64: Buffer.from(content).toString("base64") },
    );
  return args;
}

/** Imported as text by the hub. */
// biome-ignore lint/style/noDefaultExport: the type of a text import is its default export
export default "arguments" as string;
