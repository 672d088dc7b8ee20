import { MASK } from "#shared/kit/hide-credentials.ts";
import { createMask } from "#shared/kit/secret-forms.ts";
import { MAX_EVENT_BYTES, type RecordingEvent } from "#shared/recording/events.ts";
import { type Mask, SHORTEST_SECRET } from "#shared/recording/masks.ts";

/** Texts of an event, by how long they may be; all others are names. */
const LONG: ReadonlySet<string> = new Set(["text", "reason", "url", "source"]);
const MOST = { long: 2_000, name: 200 };
/** Arguments of actions in which people and programs type secrets: only their length is kept. */
const TYPED = /^(value|values|text|key|keys|prompt_text|password|token|headers|cookies|content)$/i;

const clip = (text: string, most: number): string =>
  (text.length > most ? `${text.slice(0, most - 1)}…` : text).toWellFormed();

/** Returns the function that masks what is secret in an event, and shortens it to what the format allows. */
export function createEventWriter({
  text: mask,
}: Pick<Mask, "text">): (event: RecordingEvent) => RecordingEvent {
  return (event) => {
    const out: Record<string, unknown> = {};
    for (const [key, value] of Object.entries(event)) {
      const long = LONG.has(key) || (key === "error" && event.type === "action");
      const most = long ? MOST.long : MOST.name;
      out[key] = typeof value === "string" ? clip(mask(value), most) : value;
    }
    if (event.type === "action" && event.arguments) {
      out.arguments = plain(event.arguments, mask, 0);
      // Why an action failed often says with what.
      const typed = createMask(typedIn(event.arguments, 0), { shortest: SHORTEST_SECRET });
      if (event.error) out.error = clip(mask(typed.text(event.error)), MOST.long);
    }
    const bytes = bytesOf(out);
    if (bytes > MAX_EVENT_BYTES && out.arguments) out.arguments = { omitted: `${bytes} bytes` };
    // Control characters take six bytes each in JSON, and a page chooses what it logs.
    for (const key of LONG) {
      const text = out[key];
      if (typeof text === "string" && bytesOf(out) > MAX_EVENT_BYTES)
        out[key] = clip(text, MOST.name);
    }
    return out as RecordingEvent;
  };
}

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

const DEEPEST = 4;
const MOST_ITEMS = 50;

function plain(value: unknown, mask: (text: string) => string, depth: number): unknown {
  if (typeof value === "string") return clip(mask(value), MOST.long);
  if (value === null || typeof value !== "object") return value;
  if (depth === DEEPEST) return "…";
  if (Array.isArray(value))
    return value.slice(0, MOST_ITEMS).map((one) => plain(one, mask, depth + 1));
  const entries = Object.entries(value).slice(0, MOST_ITEMS);
  return Object.fromEntries(
    entries.map(([key, one]) => [
      clip(mask(key), MOST.name),
      TYPED.test(key) ? typedOf(one) : plain(one, mask, depth + 1),
    ]),
  );
}

/** Every text that `plain` shows by its length alone. */
function typedIn(value: unknown, depth: number, is_typed = false): string[] {
  if (typeof value === "string") return is_typed ? [value] : [];
  if (value === null || typeof value !== "object" || depth > DEEPEST) return [];
  return Object.entries(value)
    .slice(0, MOST_ITEMS)
    .flatMap(([key, one]) => typedIn(one, depth + 1, is_typed || TYPED.test(key)));
}

const typedOf = (value: unknown): string =>
  typeof value === "string" ? `${MASK} (${value.length} characters)` : MASK;
