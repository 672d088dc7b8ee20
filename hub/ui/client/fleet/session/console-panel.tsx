import { Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { FlotillaError } from "#shared/client/errors.ts";
import type { Session } from "#shared/protocol/schema/session.ts";
import type { TimedEvent } from "#shared/recording/events.ts";
import { call } from "../../lib/http.ts";
import { Loadable } from "../../parts/states.tsx";

const EVERY_MS = 3_000;
const MOST_SHOWN = 300;
const MOST_ANSWERS = 20;

type Line = Extract<TimedEvent, { type: "console" | "error" }>;
const isLine = (event: TimedEvent): event is Line =>
  event.type === "console" || event.type === "error";

/** A session that is not recorded has no events. */
async function readLines(sid: string, signal: AbortSignal): Promise<Line[] | null> {
  const lines: Line[] = [];
  try {
    for (let after_ms = -1, i = 0; i < MOST_ANSWERS; i += 1) {
      const asked = { params: { sid }, query: { after_ms }, signal };
      const { items, more } = await call("GET /sessions/{sid}/recording/events", asked);
      lines.push(...items.filter(isLine));
      after_ms = items.at(-1)?.at_ms ?? after_ms;
      if (!more) break;
    }
    return lines;
  } catch (err) {
    if (err instanceof FlotillaError && err.status === 404) return null;
    throw err;
  }
}

/** What pages say to their console, and errors that nothing in them has caught. */
export function ConsolePanel({ session: { session_id } }: { session: Session }) {
  const query = useQuery({
    queryKey: ["console", session_id],
    queryFn: ({ signal }) => readLines(session_id, signal),
    refetchInterval: EVERY_MS,
    placeholderData: (before) => before,
  });
  return (
    <section aria-label="Console">
      <Loadable query={query} lines={4}>
        {(lines) =>
          lines === null || lines.length === 0 ? (
            <Text size="sm">
              {lines === null
                ? "This session is not recorded: its console is not kept."
                : "Pages have said nothing yet."}
            </Text>
          ) : (
            <ul className="panel-rows">
              {lines.slice(-MOST_SHOWN).map((line, i) => (
                <li
                  // biome-ignore lint/suspicious/noArrayIndexKey: two lines may be alike
                  key={i}
                  data-bad={line.type === "error" || line.level === "error" || undefined}
                >
                  <span className="wrap mono">{line.text}</span>
                </li>
              ))}
            </ul>
          )
        }
      </Loadable>
    </section>
  );
}
