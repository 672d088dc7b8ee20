import type { BrowserOptions } from "#shared/protocol/schema/browser-options.ts";
import type { Protocol } from "../cdp/connection.ts";
import { describeUserAgent } from "./client-hints.ts";

/** `de-DE` is asked for as `de-DE,de`, as a browser with that language does. */
export const languagesOf = (locale: string): string => {
  const { language } = new Intl.Locale(locale);
  return language === locale ? locale : `${locale},${language}`;
};

const acceptLanguage = (locale: string): string =>
  languagesOf(locale)
    .split(",")
    .map((one, i) => (i === 0 ? one : `${one};q=0.9`))
    .join(",");

type Hints = Protocol.Emulation.UserAgentMetadata;

/** The hints that are in every request to a safe origin; a site that wants more asks for them. */
const hintsOf = ({ brands = [], mobile, platform }: Hints): [name: string, value: string][] => [
  ["sec-ch-ua", brands.map(({ brand, version }) => `"${brand}";v="${version}"`).join(", ")],
  ["sec-ch-ua-mobile", mobile ? "?1" : "?0"],
  ["sec-ch-ua-platform", `"${platform}"`],
];

/** The headers of a request of the lane's browser as one that shows these options would have sent it. */
export function sentAs(
  sent: Protocol.Network.Headers,
  { user_agent, locale, extra_headers = {} }: BrowserOptions,
  product: string,
): Protocol.Fetch.HeaderEntry[] {
  const headers = new Map(
    Object.entries(sent).map(([name, value]) => [name.toLowerCase(), { name, value }]),
  );
  const put = (name: string, value: string) => headers.set(name.toLowerCase(), { name, value });
  if (user_agent !== undefined) {
    put("User-Agent", user_agent);
    const { metadata } = describeUserAgent(user_agent, product);
    const hints = new Map(metadata ? hintsOf(metadata) : []);
    for (const name of [...headers.keys()].filter((one) => one.startsWith("sec-ch-ua"))) {
      const value = hints.get(name);
      if (value === undefined) headers.delete(name);
      else put(name, value);
    }
  }
  if (locale !== undefined) put("Accept-Language", acceptLanguage(locale));
  for (const [name, value] of Object.entries(extra_headers)) put(name, value);
  return [...headers.values()];
}
