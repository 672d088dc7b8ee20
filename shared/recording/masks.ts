import { hideCredentials } from "#shared/kit/hide-credentials.ts";
import { createMask as createTextMask } from "#shared/kit/secret-forms.ts";

/** A shorter secret would take every second word with it. */
export const SHORTEST_SECRET = 4;
/** A longer one is a document: every text would be searched for all spellings of it. */
const LONGEST_SECRET = 10_000;

/** What no recording of a run may show (rules/recordings#secrets-in-recordings). */
export interface Mask {
  text(text: string): string;
  /** Masks all texts in a JSON value, names included. */
  value(value: unknown): unknown;
  /** Values that are secret from now on. @returns the function that takes this back; other calls still hide theirs. */
  hide(secrets: readonly string[]): () => void;
}

export function createMask(secrets: readonly string[] = []): Mask {
  /** How many calls hide each of them. */
  const known = new Map<string, number>();
  let made: ReturnType<typeof createTextMask> | null = null;
  const count = (secret: string, by: 1 | -1): void => {
    const before = known.get(secret) ?? 0;
    if (before + by > 0) known.set(secret, before + by);
    else known.delete(secret);
    if (before === 0 || before + by === 0) made = null;
  };
  const hide = (more: readonly string[]): (() => void) => {
    const own = [...new Set(more)].filter(
      ({ length }) => length >= SHORTEST_SECRET && length <= LONGEST_SECRET,
    );
    for (const secret of own) count(secret, 1);
    return () => {
      for (const secret of own.splice(0)) count(secret, -1);
    };
  };
  const text = (raw: string): string => {
    made ??= createTextMask(known.keys());
    return made.text(hideCredentials(raw));
  };
  const value = (raw: unknown): unknown => {
    if (typeof raw === "string") return text(raw);
    if (typeof raw !== "object" || raw === null) return raw;
    if (Array.isArray(raw)) return raw.map(value);
    return Object.fromEntries(Object.entries(raw).map(([name, of]) => [text(name), value(of)]));
  };
  hide(secrets);
  return { text, value, hide };
}
