import type { EgressOption } from "#shared/protocol/egress.ts";
import type { ProxyOption } from "#shared/protocol/proxy.ts";

/** How a browser goes out, as forms have it: where it may connect to, and through which proxy. Null: not set. */

const NOTHING_NARROWED: EgressOption = { mode: null, allow: [], deny: [] };
const NO_SERVER: ProxyOption = { server: "", username: null, password: null, bypass: null };

/** Entries as people separate them. */
export const entriesOf = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean);

export function egressWith(
  before: EgressOption | null,
  changed: Partial<EgressOption>,
): EgressOption | null {
  const { mode, allow, deny } = { ...NOTHING_NARROWED, ...before, ...changed };
  return mode === null && allow.length === 0 && deny.length === 0 ? null : { mode, allow, deny };
}

/** Without a server there is no proxy, whatever else was typed. */
export function proxyWith(
  before: ProxyOption | null,
  changed: Partial<ProxyOption>,
): ProxyOption | null {
  const { server, username, password, bypass } = { ...NO_SERVER, ...before, ...changed };
  if (server.trim() === "") return null;
  return {
    server,
    username: username || null,
    password: password || null,
    bypass: bypass || null,
  };
}

/** Those of a record, which a preset may hold in any form that the API takes. */
export const egressOf = (raw: unknown): EgressOption | null =>
  typeof raw === "object" && raw !== null ? egressWith(null, raw) : null;

export function proxyOf(raw: unknown): ProxyOption | null {
  if (typeof raw === "string") return proxyWith(null, { server: raw });
  return typeof raw === "object" && raw !== null ? proxyWith(null, raw) : null;
}

/** What the API is sent: a URL where it says everything. */
export function proxyBody({
  server,
  ...rest
}: ProxyOption): string | (Pick<ProxyOption, "server"> & Partial<ProxyOption>) {
  const said = Object.entries(rest).filter(([, value]) => value !== null);
  return said.length === 0 ? server.trim() : { server: server.trim(), ...Object.fromEntries(said) };
}

const LOGIN = /^([a-z0-9]+:\/\/)?(.*)@/i;

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

/** Takes a login that was typed into the address of the proxy out of it, so that nobody reads it over a shoulder. */
export function withLoginApart(proxy: ProxyOption): ProxyOption {
  const [, scheme = "", login] = LOGIN.exec(proxy.server) ?? [];
  if (login === undefined) return proxy;
  const [user = "", ...secret] = login.split(":");
  return {
    ...proxy,
    server: proxy.server.replace(LOGIN, scheme),
    username: decoded(user) || null,
    password: decoded(secret.join(":")) || null,
  };
}

const HIDDEN = "***";

/** The proxy as a command on the screen shows it. */
export const shownProxy = (proxy: ProxyOption): ProxyOption => ({
  ...proxy,
  server: proxy.server.replace(LOGIN, `$1${HIDDEN}@`),
  username: proxy.username && HIDDEN,
  password: proxy.password && HIDDEN,
});

export function egressText({ mode, allow, deny }: EgressOption): string {
  const parts = [
    ...(mode === null ? [] : [mode]),
    ...(allow.length > 0 ? [`also to ${allow.join(", ")}`] : []),
    ...(deny.length > 0 ? [`never to ${deny.join(", ")}`] : []),
  ];
  return parts.join("; ");
}
