import type { HostRow } from "#hub/platform/db/rows.ts";
import { invalid } from "#shared/kit/errors.ts";
import type { SomeBrowserOptions } from "#shared/protocol/schema/browser-options.ts";
import { type HttpLogin, passwordVariable } from "#shared/protocol/schema/http-credentials.ts";
import type { FleetContext } from "../context.ts";

type LoginContext = Pick<FleetContext, "config">;

/** Where the password may go, and why it may go nowhere. */
type Found = { login: HttpLogin } | { lacks: string };

/**
 * The login of these options (rules/browser-options#http-logins).
 * @param own_host the host whose settings say so: a variable that is bound to none may be sent there
 */
function findLogin(
  { config: { recipe_env, recipe_hosts } }: LoginContext,
  { http_credentials }: SomeBrowserOptions,
  own_host: string | null,
): Found | null {
  if (!http_credentials) return null;
  const name = passwordVariable(http_credentials);
  const password = Object.hasOwn(recipe_env, name) ? recipe_env[name] : undefined;
  if (password === undefined)
    return {
      lacks: `${name} must be listed in the hub's SVC_RECIPE_ENV and set in its environment`,
    };
  const hosts = recipe_hosts[name] ?? (own_host === null ? [] : [own_host]);
  if (hosts.length === 0)
    return {
      lacks: `${name} is bound to no host: the hub's SVC_RECIPE_ENV=${name}@HOST would bind it`,
    };
  const { username, origin = null } = http_credentials;
  return { login: { username, password, hosts: [...hosts], origin } };
}

/** @throws AppError invalid when the login that a job or session names may go nowhere */
export function requireHttpLogin(
  ctx: LoginContext,
  asked: SomeBrowserOptions,
  loc: readonly string[],
): void {
  const found = findLogin(ctx, asked, null);
  if (found && "lacks" in found)
    throw invalid([...loc, "http_credentials", "password"], found.lacks);
}

/**
 * The login of a run: that of the job or session, else that of the host, else the setting's. `lacks`: why there is none
 * although one of them names it.
 */
export function httpLoginOf(
  ctx: LoginContext,
  merged: SomeBrowserOptions | null,
  asked: SomeBrowserOptions,
  host: Pick<HostRow, "host" | "browser_options"> | null,
): { http_login?: HttpLogin; lacks: string | null } {
  const is_hosts = !asked.http_credentials && host?.browser_options?.http_credentials;
  const found = merged && findLogin(ctx, merged, is_hosts ? host.host : null);
  if (found === null) return { lacks: null };
  return "login" in found ? { http_login: found.login, lacks: null } : found;
}
