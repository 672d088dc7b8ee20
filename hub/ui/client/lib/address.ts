import { withScheme } from "#shared/protocol/missing-scheme.ts";

const SCHEME = /^[a-z][a-z0-9+.-]*:/i;

/** What people type where an address is wanted: without a scheme, with the one that was probably meant. */
export function addressOf(typed: string): string {
  const text = typed.trim();
  if (text === "") return "";
  return withScheme(text) ?? (SCHEME.test(text) ? text : `https://${text}`);
}
