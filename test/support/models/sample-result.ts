import { z } from "@hono/zod-openapi";
import { SESSION_ACTIONS } from "#shared/protocol/actions/session-actions.ts";

interface Schema {
  type?: string;
  const?: unknown;
  enum?: unknown[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  properties?: Record<string, Schema>;
}

/** The plainest value of a schema: what is text is empty, and so is a list. */
function sampleOf(schema: Schema): unknown {
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0];
  const one = (schema.anyOf ?? schema.oneOf)?.at(-1);
  if (one) return sampleOf(one);
  switch (schema.type) {
    case "object":
      return Object.fromEntries(
        Object.entries(schema.properties ?? {}).map(([name, of]) => [name, sampleOf(of)]),
      );
    case "array":
      return [];
    case "string":
      return "";
    case "integer":
    case "number":
      return 0;
    case "boolean":
      return false;
    default:
      return null;
  }
}

/** What a worker may answer to a session action (rules/session-actions#the-actions). */
export function sampleResult(action: string): unknown {
  const { result } = SESSION_ACTIONS[action as keyof typeof SESSION_ACTIONS] ?? {};
  return result === undefined
    ? null
    : sampleOf(z.toJSONSchema(result, { io: "output", reused: "inline" }) as Schema);
}
