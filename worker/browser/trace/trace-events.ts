import { isObject } from "#shared/kit/is-object.ts";
/** What a trace of Playwright holds, as far as it is read here: lines of JSON, of which each is one event. */
export type TraceEvent = Record<string, unknown>;

/** The attribute in which a picture of the DOM keeps what is in a field. */
export const FIELD_VALUE = "__playwright_value_";

/** An event, or null for a line that is none: the last may be torn. */
export function eventOf(line: string): TraceEvent | null {
  try {
    const value: unknown = JSON.parse(line);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

/** The record that an event has in this member. */
export const recordIn = (event: TraceEvent, name: string): Record<string, unknown> => {
  const value = event[name];
  return isObject(value) ? value : {};
};

export const listIn = (event: TraceEvent, name: string): Record<string, unknown>[] => {
  const value = event[name];
  return Array.isArray(value) ? value.filter(isObject) : [];
};

const DEEPEST = 2_000;

/** The attributes of every INPUT and TEXTAREA in a picture of the DOM: `[name, attributes, …children]`. */
export function* fieldsIn(html: unknown, depth = 0): Generator<Record<string, unknown>> {
  if (!Array.isArray(html) || depth > DEEPEST) return;
  const [name, attributes, ...children] = html as unknown[];
  if (typeof name !== "string") return;
  if (isObject(attributes) && typeof attributes[FIELD_VALUE] === "string") yield attributes;
  for (const child of children) yield* fieldsIn(child, depth + 1);
}

const SECRET_KIND = /(^|\s)(current-password|new-password|one-time-code|cc-number|cc-csc)(\s|$)/i;

/** Whether a field is for what nobody else may read, as `SECRET_FIELDS` has it. */
export const isSecretField = (attributes: Record<string, unknown>): boolean =>
  String(attributes.type ?? "").toLowerCase() === "password" ||
  SECRET_KIND.test(String(attributes.autocomplete ?? ""));

/** The element that an action was found to act on, as its log shows it. */
const ON_SECRET_FIELD =
  /resolved to <input [^>]*(type="password"|autocomplete="[^"]*(current-password|new-password|one-time-code|cc-number|cc-csc))/i;

/** The call whose log says that it acts on a secret field; null for other lines. */
export const callOnSecretField = ({ type, message, callId }: TraceEvent): string | null =>
  type === "log" && typeof callId === "string" && ON_SECRET_FIELD.test(String(message))
    ? callId
    : null;

/** What an action types, as its parameters have it. */
export const typedIn = (event: TraceEvent): string | null => {
  const { value, text } = recordIn(event, "params");
  return typeof value === "string" ? value : typeof text === "string" ? text : null;
};
