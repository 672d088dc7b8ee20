import { hideCredentials, MASK, shownHeader } from "#shared/kit/hide-credentials.ts";
import { isObject } from "#shared/kit/is-object.ts";
import { createMask, maskOf } from "#shared/kit/secret-forms.ts";
import type { FoundSecrets } from "./gather-secrets.ts";
import {
  eventOf,
  FIELD_VALUE,
  fieldsIn,
  isSecretField,
  listIn,
  recordIn,
  type TraceEvent,
} from "./trace-events.ts";

/** A beginning of a secret that is shorter may stand anywhere. */
const MIN_BEGINNING = 4;
/** Shorter secrets are hidden only where they are a whole text. */
const MIN_INSIDE = 3;
const DEEPEST = 2_000;

/** Returns the function that masks one line of `trace.trace` or `trace.network`. */
export function createLineMask(
  known: readonly string[],
  { values, calls, keys, by_key }: FoundSecrets,
): (line: string) => string {
  const secrets = [...known, ...values];
  const whole = new Set(secrets.filter((secret) => secret !== ""));
  const inside = createMask(secrets, { shortest: MIN_INSIDE });
  const begun = maskOf([...by_key].flatMap(beginningsOf));
  const text = (raw: string): string =>
    whole.has(raw) ? MASK : begun.text(inside.text(hideCredentials(raw)));
  const isHidden = (field: Record<string, unknown>): boolean => {
    const value = String(field[FIELD_VALUE]);
    return (
      isSecretField(field) ||
      (value !== "" && [...by_key].some((secret) => secret.startsWith(value)))
    );
  };
  return (line) => {
    const event = eventOf(line);
    if (!event) return text(line);
    if (event.type === "frame-snapshot")
      for (const field of fieldsIn(recordIn(event, "snapshot").html))
        if (isHidden(field)) hideField(field);
    const call = String(event.callId);
    if (event.type === "before" && (calls.has(call) || keys.has(call))) hideTyped(event);
    if (event.type === "resource-snapshot") hideEntry(recordIn(event, "snapshot"));
    return JSON.stringify(inAll(event, text, 0));
  };
}

const beginningsOf = (secret: string): string[] =>
  Array.from({ length: Math.max(0, secret.length - MIN_BEGINNING) }, (_, n) =>
    secret.slice(0, MIN_BEGINNING + n),
  );

function hideField(field: Record<string, unknown>): void {
  for (const name of [FIELD_VALUE, "value"])
    if (typeof field[name] === "string" && field[name] !== "") field[name] = MASK;
}

function hideTyped(event: TraceEvent): void {
  const params = recordIn(event, "params");
  for (const name of ["value", "text", "key"])
    if (typeof params[name] === "string") params[name] = MASK;
}

function hideEntry(entry: TraceEvent): void {
  for (const side of [recordIn(entry, "request"), recordIn(entry, "response")]) {
    for (const cookie of listIn(side, "cookies")) cookie.value = MASK;
    for (const header of listIn(side, "headers"))
      header.value = shownHeader(String(header.name), String(header.value));
  }
}

/** Every text in a JSON value, and the names of members. */
function inAll(value: unknown, text: (raw: string) => string, depth: number): unknown {
  if (typeof value === "string") return text(value);
  // Nothing that deep is let through unread.
  if (depth > DEEPEST) return null;
  if (Array.isArray(value)) return value.map((one) => inAll(one, text, depth + 1));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [text(name), inAll(one, text, depth + 1)]),
  );
}
