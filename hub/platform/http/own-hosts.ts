import { isIP } from "node:net";
import type { MiddlewareHandler } from "hono";
import type { Clock } from "#shared/kit/clock.ts";
import { AppError } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import type { HttpEnv } from "./env.ts";

export interface HostRule {
  readonly log: Log;
  readonly clock: Clock;
  /** The current SVC_ALLOWED_HOSTS; `*` is any. */
  readonly config: { readonly allowed_hosts: readonly string[] };
  readonly own_names: readonly string[];
  /** Names of the other hubs; read at most once a second, for names that are not known otherwise. */
  readonly peerNames?: () => Promise<readonly string[]>;
  /** Whether the call was passed on by a hub that has judged the Host and proves itself. */
  readonly isPassedOn?: (headers: Headers) => boolean;
}

const PEERS_KEPT_MS = 1_000;
/** How many names are logged, each once, because callers may make them up. */
const MOST_TOLD = 20;

/** The host without its port; null for anything that is not a host. */
const nameIn = (host: string): string | null =>
  /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+?)\.?(:[0-9]*)?$/i.exec(host)?.[1]?.toLowerCase() ?? null;

const isAddress = (name: string): boolean => isIP(name.replace(/^\[|\]$/g, "")) !== 0;
const isLoopbackName = (name: string): boolean =>
  name === "localhost" || name.endsWith(".localhost");

/**
 * Answers only to names that are the server's own: a web page that rebinds its own name to the server's address speaks
 * to it as its own origin, and nothing else gives it away. Addresses cannot be rebound. A call without Host does not
 * get this far (`listen.ts`).
 */
export function ownHostsOnly(rule: HostRule): MiddlewareHandler<HttpEnv> {
  const own = new Set(rule.own_names);
  const told = new Set<string>();
  let peers: { names: Promise<readonly string[]>; at: number } | null = null;
  /** The last Host whose name was enough, by the list of that moment: to look at every call's anew costs 8 µs. */
  let known: { host: string; allowed: readonly string[] } | null = null;
  const isPeer = async (name: string): Promise<boolean> => {
    if (!rule.peerNames) return false;
    const now = rule.clock.monotonic();
    if (peers === null || now - peers.at > PEERS_KEPT_MS)
      peers = { names: rule.peerNames().catch(() => []), at: now };
    return (await peers.names).includes(name);
  };
  const isKnownName = (name: string, allowed: readonly string[]): boolean =>
    isAddress(name) ||
    isLoopbackName(name) ||
    own.has(name) ||
    allowed.includes("*") ||
    allowed.includes(name);
  const tell = (name: string) => {
    if (told.size >= MOST_TOLD || told.has(name)) return;
    told.add(name);
    rule.log.warn(
      { host: name },
      "refused a call to a name that is not this server's: SVC_ALLOWED_HOSTS",
    );
  };
  return async function ownHostChecked(c, next) {
    const host = c.req.header("host");
    const allowed = rule.config.allowed_hosts;
    if (host === undefined || (known?.host === host && known.allowed === allowed)) return next();
    const name = nameIn(host);
    if (name !== null && isKnownName(name, allowed)) {
      known = { host, allowed };
      return next();
    }
    if (name !== null && (rule.isPassedOn?.(c.req.raw.headers) || (await isPeer(name))))
      return next();
    const said = name ?? "that is none";
    tell(said);
    throw new AppError(
      "misdirected",
      `this server is not called ${said}: if it should be, name it in SVC_ALLOWED_HOSTS`,
    );
  };
}
