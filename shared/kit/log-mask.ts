import { hideCredentials, MASK } from "./hide-credentials.ts";
import { TOKEN_PREFIX } from "./secret.ts";
import { createMask } from "./secret-forms.ts";

/** Shorter secrets would hide ordinary words. */
const MIN_SECRET = 6;
const MAX_DEPTH = 8;
/** Names under which a secret stands. */
export const SECRET_NAME =
  /pass(word|wd|phrase)?$|secret|token$|authorization|cookies?$|api[-_]?key$|private[-_]?key|credentials?$/i;

const ROLE_TOKEN = new RegExp(`${TOKEN_PREFIX}[A-Za-z0-9_-]{43}`, "g");

/** Hides secrets in what leaves the process as a log. */
export interface LogMask {
  text(text: string): string;
  /** Masks secrets anywhere in a JSON value, and every text under a name that suggests a secret. */
  value(value: unknown): unknown;
}

/** `secrets`: values that must not be seen, in whatever spelling. */
export function createLogMask(secrets: readonly (string | null)[]): LogMask {
  const known = secrets.filter((secret) => secret !== null);
  const hidden = createMask(known, { shortest: MIN_SECRET });
  const text = (raw: string): string =>
    // Tokens with roles are recognized by their shape alone: the hub stores only their hashes.
    hidden.text(hideCredentials(raw).replace(ROLE_TOKEN, MASK));
  const mask = (value: unknown, depth: number): unknown => {
    if (typeof value === "string") return text(value);
    if (typeof value !== "object" || value === null) return value;
    if (depth >= MAX_DEPTH) return "…";
    if (Array.isArray(value)) return value.map((item) => mask(item, depth + 1));
    return Object.fromEntries(
      Object.entries(value).map(([name, of]) => [
        text(name),
        typeof of === "string" && SECRET_NAME.test(name) ? MASK : mask(of, depth + 1),
      ]),
    );
  };
  return { text, value: (value) => mask(value, 0) };
}
