import type { AnswerOf } from "#shared/client/operation.ts";
import type { ClientCall } from "../client-call.ts";
import { EXIT } from "../exit.ts";
import { pollUntil } from "../poll.ts";
import type { Terminal } from "../print.ts";
import { logLine } from "./log-line.ts";

type TimedEvent = AnswerOf<"GET /sessions/{sid}/recording/events">["items"][number];

/** Fields that its line says already, or that nobody reads. */
const SAID = new Set(["type", "at_ms", "text", "level", "box", "unheard"]);

const levelOf = (event: TimedEvent): string => {
  if ("level" in event) return event.level === "warning" ? "warn" : event.level;
  const failed = "outcome" in event && event.outcome === "failed";
  return failed || event.type === "error" || event.type === "request_failed" ? "error" : "info";
};

function eventLine(terminal: Terminal, event: TimedEvent, started_at: number): string {
  const fields = Object.fromEntries(Object.entries(event).filter(([name]) => !SAID.has(name)));
  return logLine(terminal, {
    ts: new Date(started_at + event.at_ms).toISOString(),
    level: levelOf(event),
    source: event.type,
    message: "text" in event ? (event.text ?? "") : "",
    fields,
  });
}

/** Events after those that were read before. Those of one moment may come in two answers. */
function eventReader({ client }: ClientCall, sid: string) {
  let last = { at_ms: -1, count: 0 };
  return async (): Promise<TimedEvent[]> => {
    const found: TimedEvent[] = [];
    for (let more = true; more; ) {
      const query = { after_ms: Math.max(0, last.at_ms - 1) };
      // Events of the very first moment are not after anything.
      const given = last.at_ms < 1 ? { params: { sid } } : { params: { sid }, query };
      const page = await client.call("GET /sessions/{sid}/recording/events", given);
      const known = page.items.filter(({ at_ms }) => at_ms < last.at_ms).length + last.count;
      const fresh = page.items.slice(known);
      found.push(...fresh);
      const at_ms = page.items.at(-1)?.at_ms ?? last.at_ms;
      const count = page.items.filter((one) => one.at_ms === at_ms).length;
      if (page.items.length > 0) last = { at_ms, count };
      more = page.more && fresh.length > 0;
    }
    return found;
  };
}

/** `flotilla logs SESSION`: what its recording tells happened; with `follow` until it has ended. */
export async function sessionLogs(call: ClientCall, sid: string, follow: boolean): Promise<number> {
  const { client, terminal, json } = call;
  const recording = () => client.call("GET /sessions/{sid}/recording", { params: { sid } });
  const started_at = Date.parse((await recording()).started_at);
  const next = eventReader(call, sid);
  const print = (events: readonly TimedEvent[]) => {
    for (const event of events)
      terminal.out(json ? `${JSON.stringify(event)}\n` : eventLine(terminal, event, started_at));
  };
  if (!follow) {
    print(await next());
    return EXIT.ok;
  }
  const is_over = await pollUntil(call, async () => {
    // Asked before the events are read, so that the last of them are not missed.
    const { state } = await recording();
    print(await next());
    return state !== "live";
  });
  return is_over ? EXIT.ok : EXIT.interrupted;
}
