import type { HostRow } from "#hub/platform/db/rows.ts";
import { isoTime } from "#shared/kit/clock.ts";
import { AppError, type Issue, invalid, notFound } from "#shared/kit/errors.ts";
import { MASK } from "#shared/kit/hide-credentials.ts";
import { canonicalHost } from "#shared/kit/host-name.ts";
import {
  MAX_HOST_COOKIES,
  MAX_HOST_RECIPES_BYTES,
  MAX_RECIPE_BYTES,
  MAX_RECIPES,
} from "#shared/protocol/limits.ts";
import { isMasked, maskProxy, type ProxyOption } from "#shared/protocol/proxy.ts";
import type { StoredCookie } from "#shared/protocol/schema/cookie.ts";
import type { Host, PutHost, SyncCookies } from "#shared/protocol/schema/host.ts";
import type { LoginRecipe, Recipe } from "#shared/protocol/schema/recipe.ts";
import type { FleetContext } from "../context.ts";
import { cookiesFor, hostAndParents, hostOfCookie } from "./host-cookies.ts";

/** Settings as the wire shows them: cookie values masked. */
const hostRecord = (row: HostRow): Host => ({
  ...row,
  cookies: row.cookies.map((cookie) => ({ ...cookie, value: MASK })),
  proxy: row.proxy && maskProxy(row.proxy),
  updated_at: isoTime(row.updated_at),
});

/** @throws AppError not_found, also for text that cannot name a host. */
function known(raw: string): string {
  const host = canonicalHost(raw);
  if (host === null) throw notFound("host");
  return host;
}

/** @throws AppError invalid naming the path. */
function writable(raw: string): string {
  const host = canonicalHost(raw);
  if (host === null)
    throw invalid(["path", "host"], "must be a host name without scheme, port or path");
  return host;
}

const sizeOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

function refuseLong(recipe: Recipe | LoginRecipe, loc: Issue["loc"]): void {
  if (sizeOf(recipe) > MAX_RECIPE_BYTES)
    throw invalid(loc, `must be at most ${MAX_RECIPE_BYTES} bytes of JSON`, "too_big");
}

const found = (row: HostRow | null, what = "host"): Host => {
  if (!row) throw notFound(what);
  return hostRecord(row);
};

export const listHosts = async (ctx: Pick<FleetContext, "db">): Promise<Host[]> =>
  (await ctx.db.hosts.list()).map(hostRecord);

/** @throws AppError not_found. */
export const getHost = async (ctx: Pick<FleetContext, "db">, host: string): Promise<Host> =>
  found(await ctx.db.hosts.get(known(host)));

/** PUT /hosts/{host} (rules/hosts#replace-a-host): replaces everything; the cookies only when they are given. */
export async function putHost(
  ctx: Pick<FleetContext, "clock" | "db">,
  raw: string,
  input: PutHost,
): Promise<Host> {
  const host = writable(raw);
  if (input.host !== undefined && canonicalHost(input.host) !== host)
    throw invalid(["body", "host"], "is not the host of the path");
  for (const [i, recipe] of input.recipes.entries()) refuseLong(recipe, ["body", "recipes", i]);
  if (input.login_recipe) refuseLong(input.login_recipe, ["body", "login_recipe"]);
  const { recipes, login_recipe, popup_policy, notes, cookies, record, browser_options } = input;
  const now = ctx.clock.now();
  const proxy = input.proxy && (await withLogin(ctx, host, input.proxy));
  const row = {
    host,
    recipes,
    login_recipe,
    popup_policy,
    notes,
    record,
    updated_at: now,
    ...(proxy !== undefined && { proxy }),
    ...(browser_options !== undefined && { browser_options }),
  };
  const stored = await ctx.db.hosts.put(row);
  return hostRecord(
    cookies === undefined ? stored : await ctx.db.hosts.putCookies(host, cookies, MASK, now),
  );
}

/**
 * A proxy as a record shows it keeps the login that is stored for the same server: for another server it must be given
 * again.
 * @throws AppError invalid
 */
async function withLogin(
  ctx: Pick<FleetContext, "db">,
  host: string,
  proxy: ProxyOption,
): Promise<ProxyOption> {
  if (!isMasked(proxy)) return proxy;
  const [row] = await ctx.db.hosts.find([host]);
  const stored = row?.proxy;
  if (stored?.server === proxy.server)
    return { ...proxy, username: stored.username, password: stored.password };
  throw invalid(
    ["body", "proxy"],
    `has ${MASK} for its login, and none is stored for this server: give user name and password`,
  );
}

/** @throws AppError not_found. */
export async function deleteHost(ctx: Pick<FleetContext, "db">, host: string): Promise<void> {
  if (!(await ctx.db.hosts.delete(known(host)))) throw notFound("host");
}

/**
 * Appends a recipe; creates a host that is not known (rules/hosts#append-and-remove-recipes).
 * @throws AppError conflict when the host has as many as it may.
 */
export async function addRecipe(
  ctx: Pick<FleetContext, "db" | "clock">,
  raw: string,
  recipe: Recipe,
): Promise<Host> {
  const host = writable(raw);
  refuseLong(recipe, ["body"]);
  const limits = { max: MAX_RECIPES, max_chars: MAX_HOST_RECIPES_BYTES };
  const row = await ctx.db.hosts.addRecipe(host, recipe, limits, ctx.clock.now());
  if (row) return hostRecord(row);
  throw new AppError(
    "conflict",
    `${host} has as many recipes as it may: ${MAX_RECIPES}, ${MAX_HOST_RECIPES_BYTES} bytes in all`,
  );
}

/** @throws AppError not_found for an index that no recipe has. */
export async function removeRecipe(
  ctx: Pick<FleetContext, "db" | "clock">,
  host: string,
  index: string,
): Promise<Host> {
  const at = /^(0|[1-9][0-9]{0,5})$/.test(index) ? Number(index) : null;
  if (at === null) throw notFound("recipe");
  return found(await ctx.db.hosts.removeRecipe(known(host), at, ctx.clock.now()), "recipe");
}

export async function setLoginRecipe(
  ctx: Pick<FleetContext, "db" | "clock">,
  host: string,
  recipe: LoginRecipe,
): Promise<Host> {
  refuseLong(recipe, ["body"]);
  return hostRecord(await ctx.db.hosts.setLoginRecipe(writable(host), recipe, ctx.clock.now()));
}

/** Replaces the cookies of a host; a masked value keeps what is stored, so that a record that was read can be sent back. */
export async function putCookies(
  ctx: Pick<FleetContext, "db" | "clock">,
  host: string,
  cookies: StoredCookie[],
): Promise<Host> {
  const row = await ctx.db.hosts.putCookies(writable(host), cookies, MASK, ctx.clock.now());
  return hostRecord(row);
}

/**
 * Cookies as the browser extension pushes them (rules/hosts#cookie-sync): kept under their domain, the last write wins by name,
 * domain and path. With `active-host` and a `host`, only those that this host would be sent are taken.
 * @returns how many each host that was pushed to has now.
 */
export async function syncCookies(
  ctx: Pick<FleetContext, "db" | "clock">,
  { scope, host, cookies }: SyncCookies,
): Promise<Record<string, number>> {
  const wanted =
    scope === "active-host" && host !== undefined ? new Set(hostAndParents(host)) : null;
  const byHost = new Map<string, StoredCookie[]>();
  for (const cookie of cookies) {
    const name = hostOfCookie(cookie);
    if (wanted && !wanted.has(name)) continue;
    const list = byHost.get(name) ?? [];
    list.push(cookie);
    byHost.set(name, list);
  }
  return ctx.db.hosts.mergeCookies(Object.fromEntries(byHost), MAX_HOST_COOKIES, ctx.clock.now());
}

/**
 * What the registry says for a job to a host: its settings, and the cookies of it and its parents
 * (rules/hosts#cookies-of-a-job).
 */
export interface HostForJob {
  settings: HostRow | null;
  cookies: StoredCookie[];
}

/** Nothing is known about text that is not a host name. */
export async function hostForJob(
  ctx: Pick<FleetContext, "db" | "clock">,
  raw: string,
): Promise<HostForJob> {
  const host = canonicalHost(raw);
  if (host === null) return { settings: null, cookies: [] };
  const rows = await ctx.db.hosts.find(hostAndParents(host));
  return {
    settings: rows.find((row) => row.host === host) ?? null,
    cookies: cookiesFor(host, rows, ctx.clock.now()),
  };
}
