import {
  bypassEntries,
  bypassRule,
  type ProxyOption,
  readProxyUrl,
} from "#shared/protocol/proxy.ts";
import type { Upstream } from "./upstream.ts";

/** @throws Error when `server` is not a proxy server, which no schema accepts */
export function upstreamOf(proxy: ProxyOption, { trusted }: { trusted: boolean }): Upstream {
  const read = readProxyUrl(proxy.server);
  if (!read) throw new Error("not a proxy server");
  const { username, password } = proxy;
  return {
    scheme: read.scheme,
    host: read.host,
    port: read.port,
    trusted,
    shown: proxy.server,
    login: username === null ? null : { username, password: password ?? "" },
    bypass: bypassEntries(proxy.bypass ?? "")
      .map(bypassRule)
      .filter((rule) => rule !== null),
  };
}
