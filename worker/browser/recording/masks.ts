import { hideCredentials } from "#shared/kit/hide-credentials.ts";
import { createMask as createTextMask } from "#shared/kit/secret-forms.ts";

/** A shorter secret would take every second word with it. */
export const SHORTEST_SECRET = 4;

/** What no recording of a run may show (rules/recordings#secrets-in-recordings). */
export interface Mask {
  text(text: string): string;
  /** Masks all texts in a JSON value, names included. */
  value(value: unknown): unknown;
  /** Values that are secret from now on. */
  add(secrets: readonly string[]): void;
}

export function createMask(secrets: readonly string[]): Mask {
  const known = new Set<string>();
  let hidden = createTextMask(known, { shortest: SHORTEST_SECRET });
  const add = (more: readonly string[]): void => {
    for (const secret of more) known.add(secret);
    hidden = createTextMask(known, { shortest: SHORTEST_SECRET });
  };
  const text = (raw: string): string => hidden.text(hideCredentials(raw));
  const value = (raw: unknown): unknown => {
    if (typeof raw === "string") return text(raw);
    if (typeof raw !== "object" || raw === null) return raw;
    if (Array.isArray(raw)) return raw.map(value);
    return Object.fromEntries(Object.entries(raw).map(([name, of]) => [text(name), value(of)]));
  };
  add(secrets);
  return { text, value, add };
}
