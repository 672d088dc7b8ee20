import { z } from "@hono/zod-openapi";
import { SESSION_ACTIONS } from "#shared/protocol/actions/session-actions.ts";

/** How scripts may give the arguments of one action. A file passes it to the guest, so it is plain JSON. */
export interface ScriptArguments {
  /** The forms of arguments by position; the first whose values all fit applies, else the last. */
  forms: { name: string; fits: Fits }[][];
  /** The argument by position that is an object itself. */
  object: string | null;
  /** Arguments that are lists, for which scripts may also give a single item. */
  lists: string[];
}

/** The types (as `typeof` names them) or the very values that an argument takes; null: anything. */
type Fits = { types: string[] } | { values: unknown[] } | null;

interface Property {
  type?: string;
  enum?: unknown[];
  const?: unknown;
  anyOf?: Property[];
}

const TYPES: Record<string, string> = { integer: "number", array: "object" };

function fitsOf(property: Property | undefined): Fits {
  if (property?.enum) return { values: property.enum };
  const types = (property?.anyOf ?? [property ?? {}]).flatMap(({ type }) =>
    type === undefined ? [] : [TYPES[type] ?? type],
  );
  return types.length === 0 ? null : { types };
}

function scriptArguments(action: (typeof SESSION_ACTIONS)[keyof typeof SESSION_ACTIONS]) {
  const schema = z.toJSONSchema(action.args, { io: "input", unrepresentable: "any" });
  const properties = schema.properties as Record<string, Property>;
  const positions: readonly (readonly string[])[] = action.positions ?? [];
  return {
    forms: positions.map((names) =>
      names.map((name) => ({ name, fits: fitsOf(properties[name]) })),
    ),
    object: action.object ?? null,
    lists: Object.keys(properties).filter((name) => properties[name]?.type === "array"),
  };
}

let made: Record<string, ScriptArguments> | null = null;
/** Of every action, by its name. */
export function allScriptArguments(): Record<string, ScriptArguments> {
  made ??= Object.fromEntries(
    Object.entries(SESSION_ACTIONS).map(([name, action]) => [name, scriptArguments(action)]),
  );
  return made;
}
