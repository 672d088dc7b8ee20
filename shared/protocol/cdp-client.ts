/** Who a CDP client is, as the hub tells the worker's bridge; for people, in recordings. */
export const CDP_CLIENT_HEADER = "flotilla-cdp-client";

const LONGEST = 200;

/** A name may have any characters, a header may not. */
export const writeCdpClient = (name: string): string =>
  encodeURIComponent(name.slice(0, LONGEST).toWellFormed());

/** Undefined where a hub of an earlier version names nobody, or what it says cannot be read. */
export function readCdpClient(header: string | string[] | undefined): string | undefined {
  if (typeof header !== "string" || header === "") return undefined;
  try {
    return decodeURIComponent(header).slice(0, LONGEST);
  } catch {
    return undefined;
  }
}
