import { z } from "@hono/zod-openapi";
import { MASK } from "#shared/kit/hide-credentials.ts";
import { ipFamily } from "#shared/kit/ip-family.ts";
import { parseEgressRule } from "./egress-rules.ts";

/** The protocol of an upstream proxy. `https`: HTTP inside TLS to the proxy. */
const PROXY_SCHEMES = ["http", "https", "socks5"] as const;
export type ProxyScheme = (typeof PROXY_SCHEMES)[number];

const DEFAULT_PORTS: Record<ProxyScheme, number> = { http: 80, https: 443, socks5: 1080 };
const WRONG_SERVER =
  "must be http://, https:// or socks5:// with a host and, unless it is the default, a port";
const MAX_LOGIN = 255;

/** Where a proxy listens; `host` without brackets. */
interface ProxyServer {
  scheme: ProxyScheme;
  host: string;
  port: number;
}

interface ReadServer extends ProxyServer {
  username: string | null;
  password: string | null;
}

/** `[SCHEME://][USER:PASSWORD@]HOST[:PORT]`, without a scheme an HTTP proxy. Null when it is malformed. */
export function readProxyUrl(raw: string): ReadServer | null {
  const [, given = "http", rest = ""] = /^(?:([a-z0-9]+):\/\/)?(.*)$/i.exec(raw.trim()) ?? [];
  const named = given.toLowerCase().replace("socks5h", "socks5");
  const scheme = PROXY_SCHEMES.find((known) => known === named);
  // A scheme for which URL parsing knows no default port, so that an explicit port is kept.
  const spelled = `ftps://${rest}`;
  if (!scheme || rest === "" || !URL.canParse(spelled)) return null;
  const url = new URL(spelled);
  // Parsed as a web address, so that the host is spelled as everywhere else.
  const as_web = `http://${url.host}/`;
  if (!/^\/?$/.test(url.pathname) || url.search || url.hash || !URL.canParse(as_web)) return null;
  const host = new URL(as_web).hostname.replace(/^\[|\]$/g, "");
  if (!isProxyHost(host)) return null;
  const [username, password] = [decoded(url.username), decoded(url.password)];
  if (username === null || password === null) return null;
  const has_login = username !== "" || password !== "";
  return {
    scheme,
    host,
    port: Number(url.port || DEFAULT_PORTS[scheme]),
    username: has_login ? username : null,
    password: has_login ? password : null,
  };
}

const isProxyHost = (host: string): boolean =>
  ipFamily(host) !== 0 || /^[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?$/i.test(host);

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/** The proxy as records and logs show it: never with a login. */
const proxyServerText = ({ scheme, host, port }: ProxyServer): string =>
  `${scheme}://${ipFamily(host) === 6 ? `[${host}]` : host}:${port}`;

/** One entry of a bypass list as a rule of the gate: `.example.com` means everything below it. */
export const bypassRule = (entry: string) =>
  parseEgressRule(entry.startsWith(".") ? `*${entry}` : entry);

/** The entries of a bypass list, comma-separated as Playwright takes it. */
export const bypassEntries = (text: string): string[] =>
  text
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "");

const Bypass = z
  .string()
  .max(10_000)
  .refine((text) => bypassEntries(text).every((entry) => bypassRule(entry) !== null), {
    error:
      "must be host names (.example.com for all below it, * for any part), addresses and CIDR ranges, comma-separated",
  });

// biome-ignore lint/suspicious/noControlCharactersInRegex: controls are exactly what is refused
const NO_CONTROLS = /^[^\u0000-\u001f\u007f]*$/;
const login = () =>
  z
    .string()
    .max(MAX_LOGIN)
    .regex(NO_CONTROLS, "must not contain control characters")
    .nullable()
    .default(null);

const ProxyObject = z.strictObject({
  server: z.string().min(1).max(2_000).meta({
    description:
      "http://HOST:PORT, https://HOST:PORT (TLS to the proxy) or socks5://HOST:PORT; HOST:PORT alone is an HTTP proxy.",
  }),
  username: login().meta({ description: "Sent only to the proxy; records show ***." }),
  password: login().meta({ description: "Sent only to the proxy; records show ***." }),
  bypass: Bypass.nullable().default(null).meta({
    description:
      "Hosts to connect to without the proxy, comma-separated: host names, .example.com for all below it, addresses and CIDR ranges.",
  }),
});

/**
 * An upstream proxy in Playwright's form, or just its URL. Once parsed, `server` has no login and always a port.
 */
export const ProxyOption = z
  .union([z.string().min(1).max(3_000), ProxyObject])
  .transform((given, ctx) => {
    const { server, username, password, bypass } =
      typeof given === "string"
        ? { server: given, username: null, password: null, bypass: null }
        : given;
    const read = readProxyUrl(server);
    const fail = (message: string) => {
      ctx.addIssue({ code: "custom", message });
      return z.NEVER;
    };
    if (read === null) return fail(WRONG_SERVER);
    const user = username ?? read.username;
    const secret = password ?? read.password;
    if (user === null && secret !== null) return fail("has a password but no username");
    // RFC 7617: what is before the first colon is the user's name.
    if (read.scheme !== "socks5" && user !== null && user !== MASK && user.includes(":"))
      return fail("has a username with a colon, which cannot be sent to an HTTP proxy");
    return { server: proxyServerText(read), username: user, password: secret, bypass };
  })
  .openapi("ProxyOption");
export type ProxyOption = z.infer<typeof ProxyOption>;

/** The proxy as stored with a job and shown in every record: whether there is a login, but not which. */
export const maskProxy = (proxy: ProxyOption): ProxyOption => ({
  ...proxy,
  username: proxy.username === null ? null : MASK,
  password: proxy.password === null ? null : MASK,
});

/** Whether a login is only the mask that records show in its place. */
export const isMasked = ({ username, password }: ProxyOption): boolean =>
  username === MASK || password === MASK;
