import { createMask, type Mask } from "#shared/kit/secret-forms.ts";

/** Shorter values would hide ordinary words. */
const MIN_SECRET = 6;
const HOLDS_KEY = /authorization|key|token|secret|cookie/i;

/** Hides the keys in an engine's headers wherever a backend repeats them. */
export function createKeyMask(headers: Readonly<Record<string, string>>): Mask {
  const keys = Object.entries(headers)
    .filter(([name]) => HOLDS_KEY.test(name))
    // The scheme is not secret: `Bearer`.
    .map(([, value]) => value.replace(/^[A-Za-z]+ +/, "").trim());
  return createMask(keys, { shortest: MIN_SECRET });
}
