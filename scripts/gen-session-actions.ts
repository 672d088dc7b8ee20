import { z } from "zod";
import { SESSION_ACTIONS } from "#shared/protocol/actions/session-actions.ts";
import { ACTION_TIMEOUT_S } from "#shared/protocol/limits.ts";
import { generatedFile, writeOrCheck } from "./generated-page.ts";

/**
 * Writes what the clients know of a session's actions, so that they need neither the schemas nor zod; `--check` only
 * compares.
 */

interface Property {
  type?: string;
  enum?: unknown[];
  default?: unknown;
  anyOf?: Property[];
  items?: Property;
}

const ACTIONS = Object.entries(SESSION_ACTIONS).map(([name, { args, summary, ...action }]) => {
  const schema = z.toJSONSchema(args, { io: "input", unrepresentable: "any" });
  const properties = schema.properties as Record<string, Property>;
  const positions: readonly (readonly string[])[] = action.positions ?? [];
  return { name, summary, properties, positions, required: new Set(schema.required) };
});
type Action = (typeof ACTIONS)[number];

const timeoutOf = ({ properties }: Action) => Number(properties.timeout_s?.default);
const own_timeouts = ACTIONS.filter((action) => timeoutOf(action) !== ACTION_TIMEOUT_S.default);

const client = `/** Every action of a session with its default timeout in seconds; written by \`bun run gen\`. */
export const ACTION_TIMEOUTS_S = {
${ACTIONS.map((action) => `  ${action.name}: ${timeoutOf(action)},`).join("\n")}
} as const;
`;

const PYTHON_TYPES: Record<string, string> = {
  string: "str",
  number: "float",
  integer: "int",
  boolean: "bool",
  object: "Json",
};

function pythonType({ type, items, anyOf: [first] = [] }: Property): string {
  if (first) return pythonType(first);
  if (type === "array") return `List[${pythonType(items ?? {})}]`;
  return PYTHON_TYPES[type ?? ""] ?? "Any";
}

/** By position come those that are required, and where there is one form of them the others of that form. */
function pythonMethod({ name, summary, properties, positions, required }: Action): string {
  const form = positions.at(-1) ?? [];
  const taken = form.filter((field) => required.has(field) || positions.length === 1);
  const parameters = taken.map((field) => {
    const type = pythonType(properties[field] ?? {});
    return required.has(field) ? `${field}: ${type}` : `${field}: Optional[${type}] = UNSET`;
  });
  const head = ["self", ...parameters, "**args: Any"].join(", ");
  const given =
    taken.length === 0
      ? "args"
      : `_given(args, ${taken.map((field) => `${field}=${field}`).join(", ")})`;
  return `    def ${name}(${head}) -> Json:
        """${summary}."""
        return self.act("${name}", ${given})
`;
}

const python = `# Written by \`bun run gen\` from the table of actions that the hub judges them by.
from __future__ import annotations

from typing import Any, List, Mapping, Optional

from ._http import Json

#: What the hub takes for an action that names no timeout.
ACTION_TIMEOUT_S = ${ACTION_TIMEOUT_S.default.toFixed(1)}
ACTION_TIMEOUTS_S = {${own_timeouts.map((action) => `"${action.name}": ${timeoutOf(action).toFixed(1)}`).join(", ")}}

#: Left out; None is JSON's null.
UNSET: Any = object()


def _given(args: Mapping[str, Any], **named: Any) -> Json:
    return {**args, **{name: value for name, value in named.items() if value is not UNSET}}


class Actions:
    """One method per action; names and arguments are Playwright's. Each takes \`\`timeout_s\`\`, and \`\`frame\`\` where it goes to
    elements (the selector of an iframe, or a list of them from outside in). The answer's \`\`result\`\` is the action's.
    """

    def act(self, action: str, args: Mapping[str, Any]) -> Json:
        raise NotImplementedError

${ACTIONS.map(pythonMethod).join("\n")}

ACTIONS = tuple(name for name in vars(Actions) if not name.startswith("_") and name != "act")
`;

if (import.meta.main)
  await writeOrCheck([
    await generatedFile("shared/client/action-timeouts.ts", client),
    await generatedFile("clients/python/flotilla/_actions.py", python),
  ]);
