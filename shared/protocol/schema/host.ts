import { z } from "@hono/zod-openapi";
import { canonicalHost } from "#shared/kit/host-name.ts";
import { MAX_HOST_COOKIES } from "../limits.ts";
import { ProxyOption } from "../proxy.ts";
import { BrowserOptions } from "./browser-options.ts";
import { StoredCookie } from "./cookie.ts";
import { NextCursor } from "./page.ts";
import { LoginRecipe, PopupPolicy, RecipeList } from "./recipe.ts";
import { RecordMode } from "./record-mode.ts";

/** Lower-cased and in punycode, without scheme, port or path. */
const HostName = z
  .string()
  .max(253)
  .transform((raw, ctx) => {
    const host = canonicalHost(raw);
    if (host !== null) return host;
    ctx.addIssue({ code: "custom", message: "must be a host name without scheme, port or path" });
    return z.NEVER;
  });

const cookies = z.array(StoredCookie).max(MAX_HOST_COOKIES);

/** Host settings (rules/hosts#host-record); cookie values and the proxy's login are masked as `***`. */
export const Host = z
  .object({
    host: z.string(),
    recipes: RecipeList,
    login_recipe: LoginRecipe.nullable(),
    popup_policy: PopupPolicy,
    notes: z.string(),
    cookies,
    proxy: ProxyOption.nullable(),
    record: RecordMode.nullable(),
    browser_options: BrowserOptions.nullable(),
    updated_at: z.string(),
  })
  .openapi("Host");
export type Host = z.infer<typeof Host>;

export const HostList = z.object({ hosts: z.array(Host), ...NextCursor }).openapi("HostList");

/** Body of PUT /hosts/{host}: replaces everything but the cookies, the proxy and the browser's options, which stay when their key is missing. */
export const PutHost = z
  .strictObject({
    host: z.string().max(253).optional(),
    recipes: RecipeList.default([]),
    login_recipe: LoginRecipe.nullable().default(null),
    popup_policy: PopupPolicy.default("allow"),
    notes: z.string().max(100_000).default(""),
    cookies: cookies.optional(),
    proxy: ProxyOption.nullish().meta({
      description:
        "The proxy for jobs and sessions of this host that name none themselves. A missing key keeps it, and *** keeps its login; null removes it.",
    }),
    record: RecordMode.nullable().default(null).meta({
      description:
        "What is recorded of jobs and sessions of this host that do not say it themselves; null leaves it to the setting.",
    }),
    browser_options: BrowserOptions.nullish().meta({
      description:
        "What jobs and sessions of this host show pages of their browser, where they do not say it themselves. A missing key keeps it; null removes it.",
    }),
    updated_at: z.string().max(64).optional(),
  })
  .openapi("PutHost");
export type PutHost = z.infer<typeof PutHost>;

export const PutHostCookies = z.strictObject({ cookies }).openapi("PutHostCookies");

/** Body of POST /hosts/cookies/sync, the browser extension's push. Cookies are grouped by their domain without the dot. */
export const SyncCookies = z
  .strictObject({
    scope: z.enum(["active-host", "all"]),
    /** The active tab's host; with `active-host` the cookies are those of this host and its parents. */
    host: HostName.optional(),
    cookies: z.array(StoredCookie).max(50_000),
  })
  .openapi("SyncCookies");
export type SyncCookies = z.infer<typeof SyncCookies>;
export const SyncedCookies = z
  .object({ hosts: z.record(z.string(), z.int()) })
  .openapi("SyncedCookies");
