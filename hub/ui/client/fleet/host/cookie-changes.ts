import type { StoredCookie } from "#shared/protocol/schema/cookie.ts";
import type { Host } from "#shared/protocol/schema/host.ts";
import { call } from "../../lib/http.ts";

/** The API's placeholder for a value that is kept but not shown. */
export const MASK = "***";

/** What distinguishes a cookie from the others of its host. */
export const cookieKey = ({ name, domain, path }: StoredCookie): string =>
  JSON.stringify([name, domain, path]);

/**
 * Changes the cookies as they are now, not as they were shown: the extension may have sent some since. Those whose value is
 * masked keep theirs.
 */
export async function changeCookies(
  host: string,
  change: (now: StoredCookie[]) => StoredCookie[],
): Promise<Host> {
  const { cookies } = await call("GET /hosts/{host}", { params: { host } });
  return call("PUT /hosts/{host}/cookies", {
    params: { host },
    json: { cookies: change(cookies) },
  });
}
