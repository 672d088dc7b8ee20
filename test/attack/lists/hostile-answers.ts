import type { AttackList } from "#test/support/rigs/attempts.ts";

/** What a page may call itself; `SCRIPT` is what would run. */
export const HOSTILE_TEXTS: Record<string, string> = {
  "an element that fails to load": `"><img src=x onerror="SCRIPT">`,
  "a script": "</title></textarea></script><script>SCRIPT</script>",
  "a picture with a script": "<svg/onload=SCRIPT>",
  "a frame": `<iframe srcdoc="<script>SCRIPT</script>"></iframe>`,
  "an address that is a script": "javascript:SCRIPT//",
  "such an address, with a tab": "java\tscript:SCRIPT//",
  "such an address, with a control character": "\u0001javascript:SCRIPT//",
  "a document in an address": "data:text/html,<script>SCRIPT</script>",
  "a link of Markdown": "[x](javascript:SCRIPT)",
  "a template": ["{{constructor.constructor('SCRIPT')()}} $", "{SCRIPT} <%= SCRIPT %>"].join(""),
  "words of a terminal":
    "\u001b]0;owned\u0007\u001b[2J\u001b[31mred\u001b]8;;http://evil.test\u0007x",
  "a style": "<style>@import 'http://evil.test/x.css'; * { display: none }</style>",
  "a base":
    "<base href='http://evil.test/'><meta http-equiv=refresh content='0;url=javascript:SCRIPT'>",
};
/** Where the app shows it. */
export const HOSTILE_PLACES = [
  "title",
  "final address",
  "log",
  "error",
  "asset",
  "links",
  "HAR",
] as const;

export const TEXTS: AttackList = {
  what: "What pages call themselves, in the app: titles, addresses, logs, errors, assets, links, HAR",
  file: "hostile-answers.test.ts",
  attempts: HOSTILE_PLACES.flatMap((place) =>
    Object.keys(HOSTILE_TEXTS).map((text) => `${place}: ${text}`),
  ),
};

/** Names of captured files, which end in a header, in an archive and on somebody's disk. */
export const FILE_NAMES: Record<string, string> = {
  "a quote": 'a".html',
  "a quote and another parameter": 'a"; filename="b.exe',
  "a backslash": "a\\b.html",
  "a line end": "a\r\nX-Evil: 1\r\n\r\n<script>",
  "a line feed": "a\nSet-Cookie: evil=1",
  "a NUL": "a\u0000.html",
  "a mark that turns the line": "a\u202egnp.exe",
  "half a surrogate": "a\ud800.html",
  "a percent": "a%0d%0aX-Evil: 1",
  "two dots": "..",
  "up and over": "../../../etc/passwd",
  "up and over, backslashes": "..\\..\\..\\etc\\passwd",
  "an absolute path": "/etc/passwd",
  "a drive": "C:\\Windows\\win.ini",
  "a device": "CON",
  "a stream of a file": "a.txt::$DATA",
  "a dot at its end": "a.txt.",
  "a semicolon": "a;b=c.html",
  "an apostrophe": "UTF-8''evil.exe",
  "a long name": "a".repeat(5_000),
  emojis: "💥".repeat(60),
  nothing: "",
};
export const NAMES: AttackList = {
  what: "Names of captured files and downloads, in headers, in the archive and on disk",
  file: "hostile-answers.test.ts",
  attempts: Object.keys(FILE_NAMES).flatMap((name) => [`asset: ${name}`, `download: ${name}`]),
};

/** What a worker, or what took its place, answers for a file of a session. */
export const WORKER_HEADERS = [
  "Set-Cookie",
  "Location",
  "Clear-Site-Data",
  "Access-Control-Allow-Origin",
  "Service-Worker-Allowed",
  "Refresh",
  "Content-Security-Policy",
  "Content-Disposition",
] as const;
export const HEADERS: AttackList = {
  what: "Headers that a lane's worker answers with, towards the hub's origin",
  file: "hostile-answers.test.ts",
  attempts: [...WORKER_HEADERS],
};
