import type { Context, MiddlewareHandler } from "hono";
import { HTTPException } from "hono/http-exception";
import { AppError } from "#shared/kit/errors.ts";
import { hideCredentials } from "#shared/kit/hide-credentials.ts";
import type { AuditLog } from "../access/audit/audit-log.ts";
import { matchOf, type RouteRules } from "./access.ts";
import { NOBODY } from "./caller.ts";
import type { HttpEnv } from "./env.ts";
import { reasonOf } from "./openapi-parts.ts";
import { SAFE_METHODS } from "./origins.ts";
import { addressOf } from "./require-admin.ts";
import { shownPath } from "./shown-path.ts";
import { isUpgrade } from "./sockets.ts";

type C = Context<HttpEnv>;

const REFUSED = [401, 403, 429];
const MAX_ERROR = 200;
const WATCHES = /^(1|true|yes|on)$/i;

export interface AuditDeps {
  readonly audit: Pick<AuditLog, "record">;
  /** Another hub has recorded the call and passed it on. Absent where there are no others. */
  readonly isPassedOn?: ((headers: Headers) => boolean) | undefined;
}

/** A socket that steers a browser and does not ask only to watch. */
const takesOver = (c: C, rules: RouteRules | undefined): boolean =>
  rules?.takes_over === true && isUpgrade(c) && !WATCHES.test(c.req.query("view_only") ?? "");

/**
 * Whether the call changes something. Calls of workers are not recorded: there are many leases, reports and uploads,
 * and attempts, runs and logs show them. Nor are messages of agents, most of which change nothing: the calls that their
 * tools make are.
 */
function changesSomething(c: C, rules: RouteRules | undefined): boolean {
  if (rules?.access === "worker" || rules?.calls_others === true) return false;
  if (rules?.of_client === true) return false;
  if (!SAFE_METHODS.includes(c.req.method)) return true;
  if (rules?.by_visit !== undefined) return rules.by_visit.test(c.req.path);
  // Chromium's discovery closes tabs by GET.
  const changes = (rules?.changes ?? []).length > 0;
  return isUpgrade(c) ? takesOver(c, rules) : changes;
}

/**
 * Nothing that was sent: at most the place of a broken rule, because rules quote values, and places end in what callers
 * made up.
 */
function errorOf(status: number, err: Error | undefined): string | null {
  if (status < 400) return null;
  if (err instanceof HTTPException) return err.message.slice(0, MAX_ERROR) || reasonOf(status);
  if (!(err instanceof AppError)) return reasonOf(status);
  const { detail } = err;
  if (typeof detail === "string") return hideCredentials(detail).slice(0, MAX_ERROR);
  const known = detail.filter(({ type }) => type !== "unrecognized_keys");
  const fields = new Set(known.map(({ loc }) => loc.slice(0, 2).join(".")));
  const where = fields.size === 0 ? "" : `: ${[...fields].join(", ")}`;
  return (reasonOf(status) + where).slice(0, MAX_ERROR);
}

/**
 * The answer to a socket: Bun has it, while Hono has a 200; a refused socket may show it by its close
 * (`refuse-socket.ts`).
 */
function statusOf(c: C): number {
  if (c.res.status !== 200 || !isUpgrade(c)) return c.res.status;
  return c.error instanceof AppError ? c.error.status : 101;
}

/**
 * Records who did what, once the route has answered: calls that change something, sockets that take over a browser, and
 * all refusals. It runs before the gate, so it sees what the gate refuses.
 */
export const audited = ({ audit, isPassedOn }: AuditDeps): MiddlewareHandler<HttpEnv> =>
  async function auditedCall(c, next) {
    const match = matchOf(c);
    const changes = changesSomething(c, match?.rules);
    // Bun no longer gives the address of a socket once it is open.
    const address = changes ? (addressOf(c) ?? null) : null;
    await next();
    // A socket that is refused with one of these has this status too (`refuse-socket.ts`).
    const refused = REFUSED.includes(c.res.status);
    if (!changes && !refused) return;
    const status = statusOf(c);
    // A link of mode view steers nothing, whatever its socket asks for.
    if (status === 101 && c.get("link")?.mode === "view") return;
    if (wasRecorded(c, isPassedOn)) return;
    const { kind, name, role, token_id } = c.get("caller") ?? NOBODY;
    audit.record(
      {
        caller_kind: kind,
        caller_name: name,
        role,
        token_id,
        address: address ?? addressOf(c) ?? "unknown",
        method: c.req.method,
        route: match?.path ?? null,
        path: shownPath(c.req.url),
        status,
        error: errorOf(status, c.error),
      },
      refused,
    );
  };

/** Without a secret, anyone may claim that a call was passed on; then it is recorded twice rather than never. */
function wasRecorded(c: C, isPassedOn: AuditDeps["isPassedOn"]): boolean {
  try {
    return isPassedOn?.(c.req.raw.headers) === true;
  } catch {
    return false;
  }
}
