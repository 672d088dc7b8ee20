import type { Context } from "hono";
import { calledAt } from "#hub/platform/http/called-at.ts";
import { nameOf } from "#hub/platform/http/caller.ts";
import type { HttpEnv } from "#hub/platform/http/env.ts";
import { validationError } from "#hub/platform/http/new-app.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import { isObject } from "#shared/kit/is-object.ts";
import { LINK_TTL_S } from "#shared/protocol/limits.ts";
import { CreateSession } from "#shared/protocol/schema/session.ts";
import type { FleetContext } from "../context.ts";
import { withReplayedUrl } from "../jobs/replay-index.ts";
import { openAnywhere } from "../sessions/anywhere.ts";
import { endSession } from "../sessions/end.ts";
import type { HubSession } from "../sessions/hub-session.ts";
import { viewerPath } from "../sessions/registry.ts";
import type { SessionAnywhereContext } from "../sessions/session-contexts.ts";
import { askDriver } from "./ask-driver.ts";
import { negotiate } from "./capabilities.ts";
import { clientActed } from "./client-acted.ts";
import { type Json, notCreated, type Reading } from "./reading.ts";

type C = Context<HttpEnv>;
type Addressing = Pick<FleetContext, "clock" | "signed_links">;

/**
 * `POST /session`: a session as POST /sessions opens it, with a chromedriver on it.
 * @returns the answer to the client; that of another hub which has the lane
 * @throws AppError as `openAnywhere` does; WebDriverError. What was opened by then is ended.
 */
export async function openWebDriver(
  ctx: SessionAnywhereContext & Pick<FleetContext, "objects" | "signed_links">,
  c: C,
  { given, passed_on }: { given: unknown; passed_on: boolean },
): Promise<Response> {
  const asked = negotiate(given);
  const parsed = CreateSession.safeParse(asked.session);
  if (!parsed.success) throw validationError(parsed.error.issues, "body", asked.session);
  const { headers, signal } = c.req.raw;
  const opened = await openAnywhere(ctx, {
    input: await withReplayedUrl(ctx, parsed.data),
    headers,
    body: JSON.stringify(given),
    signal,
    opened_by: nameOf(c.var.caller),
    passed_on,
    webdriver: true,
  });
  if (opened instanceof Response) return opened;
  try {
    const capabilities = await attach(ctx, c, opened, asked);
    clientActed(opened, c.var.caller.name);
    return c.json({ value: { sessionId: opened.session_id, capabilities } });
  } catch (err) {
    await endSession(ctx, opened, `WebDriver did not begin: ${errorMessage(err)}`.slice(0, 500));
    throw err;
  }
}

/** Starts the session's chromedriver. @returns what the client is told that it has */
async function attach(
  ctx: Addressing,
  c: C,
  session: HubSession,
  { driver, ignored }: Reading,
): Promise<Json> {
  const answer = await askDriver(ctx, session, {
    method: "POST",
    path: "",
    body: JSON.stringify(driver),
    by: nameOf(c.var.caller),
    signal: c.req.raw.signal,
  });
  const { value } = (await answer.json().catch(() => ({}))) as { value?: unknown };
  if (!isObject(value)) throw notCreated(`worker ${session.link.worker_id} cannot do it`);
  if (!answer.ok) throw notCreated(String(value.message));
  const { capabilities } = value;
  if (!isObject(capabilities)) throw notCreated("chromedriver did not say what it can do");
  return {
    ...capabilities,
    platformName: "linux",
    ...(await addresses(ctx, c, session)),
    ...told(session, ignored),
  };
}

const told = ({ session_id }: HubSession, ignored: readonly string[]): Json => ({
  "flotilla:session": session_id,
  ...(ignored.length > 0 && { "flotilla:ignored": ignored }),
});

/**
 * Where the client finds the same browser otherwise. Whoever needed a token has no place to show it at a socket that it
 * finds here, so that address is a signed link.
 */
async function addresses(ctx: Addressing, c: C, { session_id }: HubSession): Promise<Json> {
  const { kind, token_id } = c.var.caller;
  const ws = calledAt(c, "ws");
  const at = `/sessions/${session_id}`;
  const expires_at = ctx.clock.now() + LINK_TTL_S.most * 1_000;
  const grant = { kind: "cdp", id: session_id, name: null, mode: "take-over" } as const;
  const cdp =
    kind === "open"
      ? `${at}/cdp`
      : `/links/${await ctx.signed_links.make({ ...grant, expires_at, token_id })}/cdp`;
  return {
    "se:cdp": ws + cdp,
    "se:vnc": `${ws}${at}/novnc/websockify`,
    "se:vncEnabled": true,
    "flotilla:viewer": calledAt(c, "http") + viewerPath(session_id),
  };
}
