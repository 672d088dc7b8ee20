import type { AttackList } from "#test/support/rigs/attempts.ts";

/** Bytes that two readers of HTTP may take for different requests, or that none should take for one. */
export interface Smuggled {
  readonly bytes: string;
  /** What the server may say first; 0 is the end of the connection without a word. */
  readonly answers: readonly number[];
}

/** Were it read as a request of its own, the log of the hub would have its path. */
export const SMUGGLED_PATH = "/smuggled";
const INNER = `GET ${SMUGGLED_PATH} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
const HOST = "Host: localhost\r\n";
const post = (headers: string, body = `0\r\n\r\n${INNER}`) =>
  `POST /jobs HTTP/1.1\r\n${HOST}Content-Type: application/json\r\n${headers}\r\n${body}`;
const get = (headers: string, target = "/health", version = "HTTP/1.1") =>
  `GET ${target} ${version}\r\n${headers}\r\n`;
const CHUNKED = "Transfer-Encoding: chunked\r\n";
const length = (value: number | string) => `Content-Length: ${value}\r\n`;
const refused = (bytes: string, ...answers: number[]): Smuggled => ({
  bytes,
  answers: answers.length > 0 ? answers : [400],
});

export const SMUGGLED: Record<string, Smuggled> = {
  "a length and chunks": refused(post(length(4) + CHUNKED)),
  "chunks and a length": refused(post(CHUNKED + length(4))),
  "two lengths, the first 0": refused(post(length(0) + length(INNER.length), INNER)),
  "two lengths, the last 0": refused(post(length(INNER.length) + length(0), INNER)),
  "a list of lengths": refused(post(length(`0, ${INNER.length}`), INNER)),
  "a length with a plus": refused(post(length("+5"), INNER)),
  "a length below 0": refused(post(length("-1"), INNER)),
  "a length in hexadecimal": refused(post(length("0x2c"), INNER)),
  "a length beyond 64 bits": refused(post(length("9".repeat(23)), INNER)),
  "an empty length": refused(post(length(""), INNER)),
  "a length that is a word": refused(post(length("many"), INNER)),
  "a length with an underscore": refused(post(length("1_0"), INNER)),
  "a space before the colon of a length": refused(
    post(`Content-Length : ${INNER.length}\r\n`, INNER),
  ),
  "an encoding that nobody knows": refused(post("Transfer-Encoding: xchunked\r\n")),
  "an encoding behind chunked": refused(post("Transfer-Encoding: chunked, identity\r\n")),
  "an encoding before chunked": refused(post("Transfer-Encoding: gzip, chunked\r\n")),
  "two encodings": refused(post(`${CHUNKED}Transfer-Encoding: identity\r\n`)),
  "a vertical tab before chunked": refused(post(`Transfer-Encoding: \x0bchunked\r\n${length(5)}`)),
  "a space before the colon of an encoding": refused(post("Transfer-Encoding : chunked\r\n")),
  "an encoding on a folded line": refused(post("Transfer-Encoding:\r\n chunked\r\n")),
  "a folded header": refused(get(`${HOST}X-A: a\r\n b\r\n`)),
  "a folded Host": refused(get("Host: local\r\n host\r\n")),
  "lines that end with LF alone": refused("GET /health HTTP/1.1\nHost: localhost\n\n", 400, 505),
  "an LF within a header": refused(get(`${HOST}X-A: b\nOrigin: http://evil.example\r\n`)),
  "a CR within a header": refused(get(`${HOST}X-A: b\rX-B: c\r\n`)),
  "a NUL within a header": refused(get(`${HOST}X-A: b\0c\r\n`)),
  "a NUL within a name": refused(get(`${HOST}X\0A: b\r\n`)),
  "a header without a colon": refused(get(`${HOST}junk\r\n`)),
  "a header without a name": refused(get(`${HOST}: junk\r\n`)),
  "a space before the first header": refused(get(` X: y\r\n${HOST}`)),
  "two Hosts, the last a stranger's": refused(get(`${HOST}Host: evil.example\r\n`), 400, 421),
  "two Hosts, the first a stranger's": refused(get(`Host: evil.example\r\n${HOST}`), 400, 421),
  "no Host": refused(get("")),
  "an empty Host": refused(get("Host: \r\n"), 400, 421),
  "a Host with a path": refused(get("Host: localhost/../evil\r\n"), 400, 421),
  "a Host with a user": refused(get("Host: localhost@evil.example\r\n"), 400, 421),
  "a Host that is no host": refused(get("Host: a b<>\r\n"), 400, 421),
  "an address of its own before a stranger's Host": refused(
    get("Host: evil.example\r\n", "http://localhost/health"),
    421,
  ),
  "an earlier HTTP": refused("GET /health\r\n\r\n", 400, 505),
  "a later HTTP": refused(get(HOST, "/health", "HTTP/9.9"), 400, 505),
  "the beginning of HTTP/2": refused("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, 505),
  "a method with a control character": refused(
    "G\x01T /health HTTP/1.1\r\nHost: localhost\r\n\r\n",
    400,
    505,
  ),
  "CONNECT to a port of the machine": refused(
    "CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    400,
    405,
  ),
  TRACE: refused("TRACE /health HTTP/1.1\r\nHost: localhost\r\nCookie: a=b\r\n\r\n", 405),
  TRACK: refused("TRACK /health HTTP/1.1\r\nHost: localhost\r\n\r\n", 0, 400, 405, 505),
  "a target with a tab": refused(get(HOST, "/health\tx"), 400, 505),
  "a target without a slash": refused(get(HOST, "health")),
  "a target of another machine": refused(get(HOST, "//evil.example/health"), 404),
  "OPTIONS of everything": refused("OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n"),
  "a chunk that ends with LF in its extension": refused(post(CHUNKED, `0;\n${INNER}\r\n0\r\n\r\n`)),
  "a size of a chunk that ends with LF": refused(post(CHUNKED, `0\n\n${INNER}`)),
  "a chunk below 0": refused(post(CHUNKED, `-1\r\n\r\n${INNER}`)),
  "a chunk with 0x": refused(post(CHUNKED, `0x0\r\n\r\n${INNER}`)),
  "a chunk beyond 64 bits": refused(post(CHUNKED, `1${"0".repeat(16)}\r\n\r\n${INNER}`)),
  "a chunk that is longer than it says": refused(post(CHUNKED, `2\r\n{}XX0\r\n\r\n${INNER}`)),
  "a chunk of no size": refused(post(CHUNKED, `\r\n\r\n${INNER}`)),
  "a chunk extension of a megabyte": refused(
    post(CHUNKED, `2;${"a".repeat(1_000_000)}\r\n{}\r\n0\r\n\r\n`),
    400,
    413,
  ),
  "trailers with a length": refused(post(CHUNKED, `0\r\nX-Evil: 1\r\n${length(9)}\r\n${INNER}`)),
  "a request in the body of a GET": refused(get(`${HOST}${length(INNER.length)}`) + INNER, 200),
  "a request in the chunks of a GET": refused(
    `${get(HOST + CHUNKED)}${INNER.length.toString(16)}\r\n${INNER}\r\n0\r\n\r\n`,
    200,
  ),
  "5,000 headers": refused(get(HOST + "X: a\r\n".repeat(5_000)), 431),
  "a header of 300 KB": refused(get(`${HOST}X-A: ${"a".repeat(300_000)}\r\n`), 431),
  "a name of 300 KB": refused(get(`${HOST}${"a".repeat(300_000)}: b\r\n`), 431),
  "a target of 300 KB": refused(get(HOST, `/${"a".repeat(300_000)}`), 431),
  "a hello of TLS": refused(
    "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".padEnd(200, "x"),
    400,
    505,
  ),
  "bytes that are nothing": refused("\x00\x01\x02\xff\xfe\r\n\r\n", 400, 505),
  "an upgrade to h2c": refused(
    get(
      `${HOST}Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n`,
    ),
    200,
  ),
};

export const SMUGGLING: AttackList = {
  what: "Requests that are smuggled into others, and bytes that are not a request",
  file: "smuggling.test.ts",
  attempts: Object.keys(SMUGGLED),
};
