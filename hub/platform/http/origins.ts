import type { Context } from "hono";
import { AppError } from "#shared/kit/errors.ts";
import type { RouteRules } from "./access.ts";
import { isUpgrade } from "./sockets.ts";

/**
 * Values for a page of the hub's own origin, and for no page: the address bar, a bookmark. Only a browser can send
 * them.
 */
const OWN_SITES = ["same-origin", "none"];
export const SAFE_METHODS = ["GET", "HEAD", "OPTIONS"];
const EXTENSION = /^(chrome|moz|safari-web)-extension:\/\/[^/]+$/;

export interface OriginRule {
  /** The origins that CORS currently allows; `*` is all. */
  allowed(): Promise<readonly string[]>;
  /** The origin of PUBLIC_BASE_URL: behind a router that changes the Host, pages have this one. */
  readonly public_host: string | null;
}

/**
 * No page of another origin makes a call that changes something, or opens a socket: browsers send such calls without
 * asking first (CSRF, and WebSockets that no CORS protects). Programs send neither header and are not affected.
 * @throws AppError forbidden
 */
export async function refuseForeignOrigin(
  c: Context,
  rules: RouteRules | null,
  rule: OriginRule,
): Promise<void> {
  if (rules?.by_visit?.test(c.req.path)) return demandVisit(c, rule);
  // Whoever knows the id, or has a link, may look in from anywhere (rules/access#session-id-as-key, rules/http#frames).
  const by_key = rules?.access === "capability" || rules?.access === "link";
  if (by_key && rules?.origins !== "never") return;
  const never = rules?.access === "worker" || rules?.origins === "never";
  if (!never && SAFE_METHODS.includes(c.req.method) && !isUpgrade(c)) return;
  const foreign = foreignOf(c, rule);
  if (foreign === null) return;
  if (rules?.origins === "extensions" && EXTENSION.test(c.req.header("origin") ?? "")) return;
  if (!never && (await isAllowed(c, rule))) return;
  throw new AppError(
    "forbidden",
    never
      ? `${foreign} may not call this`
      : `${foreign} may not call this: name its origin in SVC_CORS_ORIGINS, or in the setting cors_origins, to allow it`,
  );
}

/** A person who navigated there, or a program, but nothing that a page loads by itself. */
async function demandVisit(c: Context, rule: OriginRule): Promise<void> {
  if (isVisit(c, rule) && !isAhead(c)) return;
  if (await isAllowed(c, rule)) return;
  throw new AppError(
    "forbidden",
    "a page may not load this by itself: open it in its own tab, or POST the URL to /jobs",
  );
}

function isVisit(c: Context, rule: OriginRule): boolean {
  const header = (name: string) => c.req.header(`sec-fetch-${name}`);
  // Browsers that send the others send this one too; Node's `fetch` sends the mode alone.
  if (header("site") !== undefined) {
    const is_document = header("mode") === "navigate" && header("dest") === "document";
    // A page of another site may set its own `location`, and nobody has to touch it for that.
    return is_document && (foreignOf(c, rule) === null || header("user") === "?1");
  }
  return foreignOf(c, rule) === null && (!isBrowser(c) || loadsDocument(c));
}

/** Those of people; `Mozilla` alone is what PowerShell calls itself too. No page can change what its browser says here. */
const isBrowser = (c: Context): boolean =>
  /^Mozilla\/.*\bGecko\b/.test(c.req.header("user-agent") ?? "");

/**
 * Over plain HTTP browsers send no `Sec-Fetch-*`, but this header with every document, in a window or a frame, and with
 * nothing else. A page may have `fetch` send any `Accept`, but not this.
 */
const loadsDocument = (c: Context): boolean =>
  c.req.header("upgrade-insecure-requests") === "1" &&
  /^text\/html\b/.test(c.req.header("accept") ?? "");

/** Whether the browser loads it before anybody goes there, as pages may ask it to. */
const isAhead = (c: Context): boolean =>
  ["sec-purpose", "purpose", "x-purpose", "x-moz"].some((name) =>
    /prefetch|prerender|preview/i.test(c.req.header(name) ?? ""),
  );

const isAllowed = async (c: Context, { allowed }: OriginRule): Promise<boolean> => {
  const origin = c.req.header("origin");
  if (origin === undefined) return false;
  const origins = await allowed();
  return origins.includes("*") || origins.includes(origin);
};

/** The foreign origin of a call, as the browser reports it; null when it is not foreign. */
function foreignOf(c: Context, { public_host }: OriginRule): string | null {
  const origin = c.req.header("origin");
  const site = c.req.header("sec-fetch-site")?.toLowerCase();
  // The browser has compared them itself, by its address bar.
  if (site === "same-origin") return null;
  if (site !== undefined && !OWN_SITES.includes(site))
    return origin === undefined ? "a page of another origin" : `a page of ${origin}`;
  if (origin === undefined) return null;
  const host = URL.canParse(origin) ? new URL(origin).host : null;
  if (
    host !== null &&
    host !== "" &&
    [c.req.header("host")?.toLowerCase(), public_host].includes(host)
  )
    return null;
  return `a page of ${origin}`;
}
