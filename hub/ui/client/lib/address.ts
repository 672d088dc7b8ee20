import { withScheme } from "#shared/protocol/missing-scheme.ts";

const SCHEME = /^[a-z][a-z0-9+.-]*:/i;

/** What people type where an address is wanted: without a scheme, with the one that was probably meant. */
export function addressOf(typed: string): string {
  const text = typed.trim();
  if (text === "") return "";
  return withScheme(text) ?? (SCHEME.test(text) ? text : `https://${text}`);
}

const PARTS = /^https?:\/\/(?:[^/?#]*@)?([^/?#]+)(.*)$/is;

/** An address as a list shows it: the host with its port and without a login, and the rest. */
export function addressParts(url: string): { host: string; rest: string } {
  const [, host = "", rest = url] = PARTS.exec(url) ?? [];
  return { host, rest };
}
