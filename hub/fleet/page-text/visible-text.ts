import { decodeHTML } from "entities";
import { type PageText, TextLines } from "./text-lines.ts";

/**
 * The visible text of a page, as lines (rules/comparison#text). A page is hostile: every step moves forward and nothing
 * is searched twice, so the time grows with its length, however its elements are nested. (A parser that keeps the open
 * elements looks through all of them for every end tag: 400,000 `<b>` and as many `</i>` took it minutes.)
 */

const BLOCKS = new Set(
  (
    "address article aside blockquote body br button caption center dd details dialog dir div dl dt fieldset figcaption " +
    "figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu nav ol optgroup option p pre search " +
    "section select summary table tbody textarea tfoot thead tr ul"
  ).split(" "),
);
/** The next cell of a row, in the same line. */
const CELLS = new Set(["td", "th"]);
/** Their content is not markup: it ends with their own end tag alone. Nothing of it is shown, except in a textarea. */
const RAW = new Set("iframe noembed noframes noscript script style textarea title xmp".split(" "));
/** What is in them is shown only by browsers that do not know them, or by scripts. */
const HIDDEN = new Set("audio canvas datalist template video".split(" "));

/** Read between two pauses: about a millisecond. */
const CHARS_PER_TURN = 65_536;
const MAX_ATTRIBUTES = 10_000;

interface Scan {
  html: string;
  at: number;
  lines: TextLines;
  /** The outermost hidden element that is open, and how many of its name are. */
  hidden: string | null;
  depth: number;
  /** Open `pre` elements: there, line breaks count. */
  pre: number;
}

const NAME = /[a-z][^\s/>]*/iy;

/** The tag name that begins at `at`, in lower case; null when none does. */
function nameAt(html: string, at: number): string | null {
  NAME.lastIndex = at;
  return NAME.exec(html)?.[0].toLowerCase() ?? null;
}

/** Just behind the next `what`, or the end of the page. */
function behind(html: string, what: string, at: number): number {
  const found = html.indexOf(what, at);
  return found < 0 ? html.length : found + what.length;
}

/**
 * Just behind the `>` of a tag whose attributes begin at `at`. One within quotes is part of a value, for as many
 * attributes as a tag may have without holding up the hub.
 */
function endOfTag(html: string, at: number): number {
  const next = /[=>]/g;
  const value = /\s*(["'])?/y;
  next.lastIndex = at;
  for (let n = 0; n < MAX_ATTRIBUTES; n += 1) {
    const found = next.exec(html);
    if (!found) return html.length;
    if (found[0] === ">") return next.lastIndex;
    value.lastIndex = next.lastIndex;
    const quote = value.exec(html)?.[1];
    next.lastIndex = quote ? behind(html, quote, value.lastIndex) : value.lastIndex;
  }
  return behind(html, ">", next.lastIndex);
}

function addText(scan: Scan, begin: number, end: number): void {
  if (scan.hidden !== null) return;
  const text = decodeHTML(scan.html.slice(begin, end));
  if (scan.pre === 0) {
    scan.lines.add(text);
    return;
  }
  for (const [n, line] of text.split("\n").entries()) {
    if (n > 0) scan.lines.endLine();
    scan.lines.add(line);
  }
}

function passHidden(scan: Scan, name: string, closes: boolean): void {
  if (scan.hidden === null && !closes && HIDDEN.has(name)) scan.hidden = name;
  if (scan.hidden !== name) return;
  scan.depth += closes ? -1 : 1;
  if (scan.depth === 0) scan.hidden = null;
}

/** Reads the content of an element that holds no markup, up to its end tag. */
function passRaw(scan: Scan, name: string): void {
  const close = new RegExp(`</${name}(?=[\\s/>])`, "gi");
  close.lastIndex = scan.at;
  const end = close.exec(scan.html)?.index ?? scan.html.length;
  if (name === "textarea") {
    scan.pre += 1;
    addText(scan, scan.at, end);
    scan.pre -= 1;
  }
  scan.at = end;
}

/** Passes what begins with the `<` at the position of the scan. */
function passMarkup(scan: Scan): void {
  const { html, at } = scan;
  const closes = html[at + 1] === "/";
  const name_at = at + (closes ? 2 : 1);
  const name = nameAt(html, name_at);
  if (name === null) {
    if (html.startsWith("<!--", at)) scan.at = behind(html, "-->", at + 2);
    else if (closes || html[at + 1] === "!" || html[at + 1] === "?")
      scan.at = behind(html, ">", at);
    else {
      addText(scan, at, at + 1);
      scan.at = at + 1;
    }
    return;
  }
  scan.at = endOfTag(html, name_at + name.length);
  passHidden(scan, name, closes);
  if (BLOCKS.has(name)) scan.lines.endLine();
  if (CELLS.has(name)) scan.lines.add(" ");
  if (name === "pre") scan.pre = Math.max(0, scan.pre + (closes ? -1 : 1));
  if (!closes && RAW.has(name)) passRaw(scan, name);
}

/** Reads on for one turn; false at the end of the page, and when no more text is wanted. */
function readOn(scan: Scan): boolean {
  const { html, lines } = scan;
  const until = scan.at + CHARS_PER_TURN;
  while (scan.at < html.length && scan.at < until && !lines.full) {
    const tag = html.indexOf("<", scan.at);
    const end = Math.min(tag < 0 ? html.length : tag, until);
    if (end > scan.at) {
      addText(scan, scan.at, end);
      scan.at = end;
    } else passMarkup(scan);
  }
  return scan.at < html.length && !lines.full;
}

/** Lets the hub serve others between two turns. */
const pause = () => new Promise<void>((resolve) => setImmediate(resolve));

export async function visibleText(html: string): Promise<PageText> {
  const scan: Scan = { html, at: 0, lines: new TextLines(), hidden: null, depth: 0, pre: 0 };
  while (readOn(scan)) await pause();
  return scan.lines.end();
}
