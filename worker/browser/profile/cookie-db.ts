import { stat } from "node:fs/promises";
import { join } from "node:path";

/** Where Chromium keeps cookies, now and before version 96. */
const PLACES = ["Default/Network/Cookies", "Default/Cookies"];
/** Each encrypted value begins with the scheme's name; a database of 20,000 cookies is 10 MB. */
const SCHEMES = ["v10", "v11", "v20"] as const;
const MAX_SCAN_BYTES = 32 * 1024 * 1024;

/**
 * Encryption schemes found in a profile's cookie database; null when it has no database. They are only searched for
 * in the bytes: the file comes from a stranger, and only Chromium's sandboxed side opens it.
 */
export async function cookieSchemes(user_data: string): Promise<string[] | null> {
  for (const place of PLACES) {
    const path = join(user_data, place);
    const found = await stat(path).catch(() => null);
    if (!found?.isFile()) continue;
    const bytes = Buffer.from(await Bun.file(path).slice(0, MAX_SCAN_BYTES).arrayBuffer());
    return SCHEMES.filter((scheme) => bytes.includes(scheme));
  }
  return null;
}

const KEYS: Record<string, string> = {
  v10: "a key that is not this Chromium's",
  v11: "the desktop key store of the machine they come from",
  v20: "a key bound to the browser they come from",
};

/** Explains why a database with cookies yields none. */
export const whyUnusable = (schemes: string[]): string => {
  const keys = schemes.toReversed().map((scheme) => `${KEYS[scheme]} (${scheme})`);
  return `they have expired, or are encrypted with ${keys.join(" or ")}; log in in a session and save its profile instead`;
};
