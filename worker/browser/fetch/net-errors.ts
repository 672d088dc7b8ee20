import { hideCredentials } from "#shared/kit/hide-credentials.ts";
import type { BrowserGate } from "#worker/egress/gate.ts";

/** What Chromium's error names mean to the person who submitted the URL, and what to try. */
const TEXTS: [RegExp, (host: string) => string][] = [
  [
    /NAME_NOT_RESOLVED|NAME_RESOLUTION_FAILED/,
    (host) =>
      `the host name ${host} does not resolve (DNS): check its spelling and the worker's DNS`,
  ],
  [
    /CONNECTION_REFUSED/,
    (host) => `${host} refused the connection: check the port and that the server is running`,
  ],
  [
    /CONNECTION_TIMED_OUT|TIMED_OUT/,
    (host) => `${host} did not answer in time: check that the worker can reach it`,
  ],
  [
    /ADDRESS_UNREACHABLE|INTERNET_DISCONNECTED|NETWORK_CHANGED|NETWORK_ACCESS_DENIED/,
    (host) => `${host} cannot be reached from the worker: check its network`,
  ],
  [
    /CERT_|SSL_|BAD_SSL/,
    (host) =>
      `the TLS connection to ${host} failed: fix its certificate, name its authority in certificate_authorities, or open it with ignore_https_errors`,
  ],
  [
    /TOO_MANY_REDIRECTS/,
    () => "the URL redirects in a loop: open it by hand, it may need cookies or a login",
  ],
  [
    /UNSAFE_PORT/,
    () => "the port is one that browsers never open (ERR_UNSAFE_PORT): use another port",
  ],
  [
    /EMPTY_RESPONSE|CONNECTION_RESET|CONNECTION_CLOSED|SOCKET_NOT_CONNECTED/,
    (host) =>
      `${host} closed the connection without an answer: try again, or check the server's log`,
  ],
  [
    /INVALID_HTTP_RESPONSE|INVALID_RESPONSE|HTTP2_PROTOCOL|RESPONSE_HEADERS/,
    (host) =>
      `${host} answered with something that is not valid HTTP: check that the port speaks HTTP`,
  ],
  [
    /CONTENT_LENGTH_MISMATCH|INCOMPLETE_CHUNKED/,
    (host) => `${host} broke off in the middle of the page: try again`,
  ],
  [/BLOCKED_BY/, () => "the browser blocked the page: a policy or a header forbids to open it"],
  [
    /PROXY|TUNNEL/,
    () => "the proxy refused or failed: check the proxy of the job, its host or the worker",
  ],
];

/** Chromium's errors for a connection that its proxy did not establish. Only the proxy knows why. */
const OF_GATE = /ERR_(SOCKS_CONNECTION_(FAILED|HOST_UNREACHABLE)|ADDRESS_UNREACHABLE)\b/;

/** The same once the proxy was to carry plain HTTP, and the client spoke something else. */
const OF_CUT = /ERR_(CONNECTION_(CLOSED|RESET)|EMPTY_RESPONSE)\b/;

type Causes = Pick<BrowserGate, "failureOf"> | null;

/** Why the gate let nothing out for this URL, as a clause; null when it did not refuse it. */
export function refusalBehind(error_text: string, url: string, gate: Causes): string | null {
  const failed = gate && OF_GATE.test(error_text) ? gate.failureOf(url) : null;
  return failed?.failure === "refused_by_gate" ? failed.message : null;
}

function failureBehind(error_text: string, url: string, gate: Causes) {
  const failed = gate?.failureOf(url) ?? null;
  if (OF_GATE.test(error_text)) return failed;
  const is_cut = failed?.failure === "tunnel_connection_failed" && OF_CUT.test(error_text);
  return is_cut ? failed : null;
}

/** What an upstream proxy reported or prevented; null when there was none or it is unknown. */
function causeBehind(error_text: string, url: string, gate: Causes): string | null {
  const failed = failureBehind(error_text, url, gate);
  return failed?.message.includes("the proxy ") ? failed.message : null;
}

/**
 * Chromium's name for what really happened, as it would have reported it without a gate; `refused: …` for a request
 * that the gate did not let out.
 */
export function trueNetError(error_text: string, url: string, gate: Causes): string {
  const failed = failureBehind(error_text, url, gate);
  if (!failed) return error_text;
  if (failed.failure === "refused_by_gate") return `refused: ${failed.message}`;
  return `net::ERR_${failed.failure.toUpperCase()}`;
}

/**
 * Returns a Playwright message (`net::ERR_… at URL`) in which Chromium's error is replaced by what really happened.
 * `elsewhere`: the error of the document that failed last, for a redirect that led away from that URL.
 */
export function withTrueNetError(message: string, gate: Causes, elsewhere: string | null): string {
  const said = /net::ERR_\w+/.exec(message)?.[0];
  if (said === undefined) return message;
  const told = trueNetError(said, / at (\S+)/.exec(message)?.[1] ?? "", gate);
  const is_unknown = told === said && OF_GATE.test(said);
  return message.replace(said, is_unknown ? (elsewhere ?? said) : told);
}

/** Describes a failed navigation in a sentence: what happened, to which URL, what to try. */
export function describeNetError(chromium_says: string, url: string, gate: Causes = null): string {
  const refusal = refusalBehind(chromium_says, url, gate);
  if (refusal) return `refused to open ${shortUrl(url)}: ${refusal}`;
  const error_text = trueNetError(chromium_says, url, gate);
  const host = URL.canParse(url) ? new URL(url).host : url;
  const of_proxy = causeBehind(chromium_says, url, gate);
  if (of_proxy) return `could not open ${shortUrl(url)}: ${of_proxy} (${error_text})`;
  const known = TEXTS.find(([pattern]) => pattern.test(error_text))?.[1](host);
  return `could not open ${shortUrl(url)}: ${known ?? "the navigation failed"} (${error_text})`;
}

/** Shortens a URL for use in sentences: without a password, and truncated when it is long. */
export const shortUrl = (url: string): string => {
  const shown = hideCredentials(url);
  return shown.length > 300 ? `${shown.slice(0, 300)}…` : shown;
};
