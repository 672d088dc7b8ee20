import type { SessionCookie } from "#shared/protocol/schema/cookie.ts";
import { PutCookies } from "#shared/protocol/schema/session.ts";
import { ActionFailure } from "../actions/failure.ts";
import type { Live } from "./live.ts";

/** Cookies of the session's whole browser, in Playwright's shape (rules/sessions#cookies-of-a-session). */
export async function getCookies(live: Live): Promise<{ cookies: SessionCookie[] }> {
  const { context } = await live.pages();
  const cookies = await context.cookies();
  return {
    cookies: cookies.map(({ name, value, domain, path, expires, httpOnly, secure, sameSite }) => ({
      name,
      value,
      domain,
      path,
      expires,
      httpOnly,
      secure,
      sameSite,
    })),
  };
}

/** Adds or replaces these and leaves the others alone. @throws ActionFailure invalid, naming the refused cookie. */
export async function putCookies(
  live: Live,
  call: { args: Record<string, unknown> },
): Promise<{ count: number }> {
  const parsed = PutCookies.safeParse(call.args);
  if (!parsed.success) throw invalid(parsed.error.issues[0]?.message ?? "cookies are not valid");
  const { context } = await live.pages();
  const cookies = parsed.data.cookies.map((cookie) =>
    // Playwright wants a URL, or a domain with a path.
    cookie.url === undefined ? { path: "/", ...cookie } : cookie,
  );
  await context.addCookies(cookies).catch((err: Error) => {
    throw invalid(err.message.replace(/^browserContext\.addCookies: /, ""));
  });
  return { count: cookies.length };
}

export async function clearCookies(live: Live): Promise<null> {
  const { context } = await live.pages();
  await context.clearCookies();
  return null;
}

const invalid = (message: string) => new ActionFailure("invalid", { name: "Error", message });
