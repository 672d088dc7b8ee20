import { SECRET_HEADER } from "#shared/kit/hide-credentials.ts";
import {
  callOnSecretField,
  FIELD_VALUE,
  fieldsIn,
  isSecretField,
  listIn,
  recordIn,
  type TraceEvent,
  typedIn,
} from "./trace-events.ts";

/** What was typed into secret fields; shorter values would hide ordinary words. */
const MIN_FIELD = 4;
/** Of headers and cookies: many are `dark` or `en-GB`. */
const MIN_HEADER = 12;
const MOST_FOUND = 500;
const LONGEST = 4_096;

/** Secrets that a trace holds beyond those that are known. */
export interface FoundSecrets {
  values: ReadonlySet<string>;
  /** Calls that type into secret fields. */
  calls: ReadonlySet<string>;
  /** Calls that type a known secret, a key at a time. */
  keys: ReadonlySet<string>;
  /** The secrets that are typed so: fields show their beginnings. */
  by_key: ReadonlySet<string>;
}

/** Reads a trace's events, one after the other, for what must not be shown in any of them. */
export function createGatherer(known: Iterable<string>) {
  const values = new Set<string>();
  const calls = new Set<string>();
  const typed: { call: string; text: string }[] = [];
  const texts = new Map<string, string>();
  const add = (value: unknown, shortest: number) => {
    if (typeof value !== "string" || values.size >= MOST_FOUND) return;
    if (value.length >= shortest && value.length <= LONGEST) values.add(value);
  };
  const read = (event: TraceEvent): void => {
    if (event.type === "frame-snapshot")
      for (const field of fieldsIn(recordIn(event, "snapshot").html))
        if (isSecretField(field)) add(field[FIELD_VALUE], MIN_FIELD);
    if (event.type === "before" && typeof event.callId === "string") {
      const text = typedIn(event);
      if (text !== null && event.method === "keyboardType")
        typed.push({ call: event.callId, text });
      if (text !== null) texts.set(event.callId, text);
    }
    const call = callOnSecretField(event);
    if (call !== null) {
      calls.add(call);
      add(texts.get(call), MIN_FIELD);
    }
    if (event.type === "after" && typeof event.callId === "string") texts.delete(event.callId);
    if (event.type === "resource-snapshot") readEntry(recordIn(event, "snapshot"), add);
  };
  return {
    read,
    found: (): FoundSecrets => ({ values, calls, ...typedByKey(typed, known) }),
  };
}

type Add = (value: unknown, shortest: number) => void;

function readEntry(entry: TraceEvent, add: Add): void {
  for (const side of [recordIn(entry, "request"), recordIn(entry, "response")]) {
    for (const { value } of listIn(side, "cookies")) add(value, MIN_HEADER);
    for (const { name, value } of listIn(side, "headers")) {
      if (!SECRET_HEADER.test(String(name))) continue;
      // The scheme is not secret: `Bearer`. The cookies are added one by one.
      if (!/cookie/i.test(String(name)))
        add(
          String(value)
            .replace(/^[A-Za-z]+ +/, "")
            .trim(),
          MIN_HEADER,
        );
    }
  }
}

/** The calls that together type a known secret: no single one of them shows it. */
function typedByKey(
  typed: readonly { call: string; text: string }[],
  known: Iterable<string>,
): Pick<FoundSecrets, "keys" | "by_key"> {
  const keys = new Set<string>();
  const by_key = new Set<string>();
  const all = typed.map(({ text }) => text).join("");
  /** The number of the call that typed each character. */
  const of = typed.flatMap(({ text }, n) => Array<number>(text.length).fill(n));
  for (const secret of known) {
    if (secret === "") continue;
    for (let at = all.indexOf(secret); at >= 0; at = all.indexOf(secret, at + 1)) {
      const [first = 0, last = 0] = [of[at], of[at + secret.length - 1]];
      if (first === last) continue;
      by_key.add(secret);
      for (const { call } of typed.slice(first, last + 1)) keys.add(call);
    }
  }
  return { keys, by_key };
}
