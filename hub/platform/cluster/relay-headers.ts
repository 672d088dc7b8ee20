/** RFC 9110 §7.6.1: of one connection, never of the call. */
const HOP_BY_HOP = [
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  // Answered by the server that took the connection.
  "expect",
];

/** The headers of the call itself, without those of the connection and those that `Connection` names. */
export function endToEnd(headers: Headers, ...without: string[]): Headers {
  const out = new Headers(headers);
  const named = (headers.get("connection") ?? "").split(",").map((name) => name.trim());
  for (const name of [...HOP_BY_HOP, ...named, ...without])
    if (/^[!#$%&'*+.^_`|~0-9a-z-]+$/i.test(name)) out.delete(name);
  return out;
}
