import { z } from "@hono/zod-openapi";
import { parseJson } from "#shared/kit/json.ts";
import { RECONNECT_S } from "#shared/protocol/limits.ts";
import { CreateSession } from "#shared/protocol/schema/session.ts";

/** Fields that are text in JSON too; others are written in the query as in JSON. */
const TEXTS: ReadonlySet<string> = new Set([
  "url",
  "use_profile",
  "worker_id",
  "dialog_policy",
  "record",
  "replay",
  "replay_clock",
  "user_agent",
  "locale",
  "timezone",
  "color_scheme",
  "device",
]);
const SIZE = /^(\d{1,5})x(\d{1,5})$/;

/** `?headless`, `?ttl_s=60`, `?viewport=1280x720`, `?egress={"mode":"public"}`, `?proxy=http://proxy:3128`. */
function readValue(name: string, text: string): unknown {
  if (TEXTS.has(name)) return text;
  if (text === "") return true;
  const [, width, height] = (name === "viewport" && SIZE.exec(text)) || [];
  if (width !== undefined) return { width: Number(width), height: Number(height) };
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}

/**
 * The options of POST /sessions in a query (rules/sessions#sessions-of-a-connection), for `CreateSession` to judge; a name
 * that comes twice is a list, which no option takes. The session ends with its clients whatever is asked.
 */
export function sessionOptions(query: URLSearchParams): Record<string, unknown> {
  const names = [...new Set(query.keys())].filter((name) => name !== "token");
  const options: Record<string, unknown> = Object.fromEntries(
    names.map((name) => {
      const values = query.getAll(name).map((text) => readValue(name, text));
      return [name, values.length === 1 ? values[0] : values];
    }),
  );
  options.reconnect_s ??= RECONNECT_S.of_connection;
  return options;
}

/** The same for the documentation. */
export const SessionQuery = z
  .object(
    Object.fromEntries(
      Object.entries(CreateSession.shape).map(([name, { description }]) => [
        name,
        z
          .string()
          .optional()
          .meta({ description: description ?? "As in the body of POST /sessions." }),
      ]),
    ),
  )
  .extend({
    token: z.string().optional().meta({ description: "In the place of the header." }),
    session: z.string().optional().meta({ description: "An open session, instead of a new one." }),
  });
