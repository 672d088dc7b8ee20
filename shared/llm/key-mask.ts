import { MASK } from "#shared/kit/hide-credentials.ts";

/** Shorter values would hide ordinary words. */
const MIN_SECRET = 6;
const HOLDS_KEY = /authorization|key|token|secret|cookie/i;

export interface KeyMask {
  text(text: string): string;
  /** For text that arrives in pieces: holds back what may be the beginning of a key. */
  stream(out: (piece: string) => void): { push(piece: string): void; end(): void };
}

/** Hides the keys in an engine's headers wherever a backend repeats them. */
export function createKeyMask(headers: Readonly<Record<string, string>>): KeyMask {
  const keys = Object.entries(headers)
    .filter(([name]) => HOLDS_KEY.test(name))
    // The scheme is not secret: `Bearer`.
    .map(([, value]) => value.replace(/^[A-Za-z]+ +/, "").trim())
    .filter((key) => key.length >= MIN_SECRET)
    .sort((a, b) => b.length - a.length);
  const text = (raw: string): string =>
    keys.reduce((masked, key) => masked.replaceAll(key, MASK), raw);
  const longest = keys[0]?.length ?? 1;
  return {
    text,
    stream: (out) => {
      let held = "";
      return {
        push: (piece) => {
          held = text(held + piece);
          const ready = held.slice(0, Math.max(0, held.length - longest + 1));
          held = held.slice(ready.length);
          if (ready !== "") out(ready);
        },
        end: () => {
          if (held !== "") out(held);
          held = "";
        },
      };
    },
  };
}
