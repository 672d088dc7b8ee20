import type { Frame, Page } from "playwright-core";
import { withDeadline } from "#shared/kit/clock.ts";
import { MASK } from "#shared/kit/hide-credentials.ts";
import { createMask } from "#shared/kit/secret-forms.ts";
import {
  type AriaNode,
  type AriaPiece,
  type AriaText,
  ariaLines,
  ariaPiece,
} from "./aria-lines.ts";
import { inPage } from "./in-page.ts";
import { LINKS } from "./read-page.ts";
import { SECRET_FIELDS } from "./secret-fields.ts";

/** A page as a language model sees it. */
export interface PageSnapshot {
  url: string;
  title: string;
  /** The accessibility tree, trimmed; values of secret fields are masked. */
  aria: string;
  /** Visible or not, without repetitions. */
  links: { text: string; href: string }[];
}

export interface SnapshotOptions {
  /** Limit for `aria`; the links may take a quarter of it on top. */
  max_chars: number;
  timeout_ms: number;
}

const MAX_URL = 2_000;
const MAX_TITLE = 500;
const MAX_LINK_TEXT = 100;

/** What the page shows, without a screenshot, for a planner's prompt. @throws DeadlineError for a page that hangs */
export async function pageSnapshot(page: Page, options: SnapshotOptions): Promise<PageSnapshot> {
  const [{ url, title, aria }, links] = await Promise.all([
    seePage(page, { ...options, refs: false }),
    withDeadline("reading the links", options.timeout_ms, page.evaluate(LINKS)),
  ]);
  return { url, title, aria: aria.text, links: fewLinks(links, options.max_chars / 4) };
}

export interface SeenPage extends Pick<PageSnapshot, "url" | "title"> {
  aria: AriaText;
}

/**
 * The page's location and accessibility tree; with refs, which `aria-ref=…` accepts until the page is read again.
 * @throws DeadlineError for a page that hangs
 */
export async function seePage(
  page: Page,
  options: SnapshotOptions & { refs: boolean },
): Promise<SeenPage> {
  const reading = Promise.all([ariaOf(page, options), page.title()]);
  const [aria, title] = await withDeadline("reading the page", options.timeout_ms, reading);
  return { url: page.url().slice(0, MAX_URL), title: title.slice(0, MAX_TITLE), aria };
}

/** A piece of the page's accessibility tree with the refs of all of it, which `aria-ref=…` accepts from then on. */
export async function ariaPieceOf(
  page: Page,
  { timeout_ms, max_chars, from_line }: SnapshotOptions & { from_line: number },
): Promise<AriaPiece> {
  const { tree, mask } = await readTree(page, timeout_ms);
  return ariaPiece(tree, { max_chars, from_line, mask });
}

async function ariaOf(
  page: Page,
  { max_chars, timeout_ms, refs }: SnapshotOptions & { refs: boolean },
): Promise<AriaText> {
  const { tree, mask } = await readTree(page, timeout_ms);
  return ariaLines(tree, { max_chars, refs, mask });
}

/** The tree, and what hides the values of secret fields in it. */
async function readTree(page: Page, timeout_ms: number) {
  // Read the values before and after: one that was typed meanwhile is in one of them.
  const before = await secretValues(page);
  const tree = await page.ariaSnapshotJSON({ mode: "ai", timeout: timeout_ms });
  const secrets = new Set([...before, ...(await secretValues(page))]);
  return { tree: tree as unknown as (AriaNode | string)[], mask: maskOfFields(secrets) };
}

const VALUES = inPage<unknown[], string[]>("(fields) => fields.map((field) => field.value)");

/** Values of secret fields, in every frame. */
async function secretValues(page: Page): Promise<string[]> {
  const inFrame = (frame: Frame): Promise<string[]> =>
    frame
      .locator(SECRET_FIELDS)
      .evaluateAll(VALUES)
      // A frame that is going away shows nothing either.
      .catch(() => []);
  const values = (await Promise.all(page.frames().map(inFrame))).flat();
  return values.filter((value) => value !== "");
}

/** Shorter values are masked only where they are the whole text; otherwise they would hide half of the page. */
const MIN_INSIDE = 6;

function maskOfFields(secrets: ReadonlySet<string>): (text: string) => string {
  const whole = new Set([...secrets].map(flat));
  const inside = createMask(secrets, { shortest: MIN_INSIDE });
  return (text) => (whole.has(flat(text)) ? MASK : inside.text(text));
}

const flat = (text: string): string => text.replace(/\s+/g, " ").trim();

function fewLinks(links: PageSnapshot["links"], max_chars: number): PageSnapshot["links"] {
  const seen = new Set<string>();
  const few: PageSnapshot["links"] = [];
  let left = max_chars;
  for (const { href, text } of links) {
    if (!/^https?:/.test(href) || href.length > MAX_URL || seen.has(href)) continue;
    seen.add(href);
    const link = { text: flat(text).slice(0, MAX_LINK_TEXT), href };
    left -= link.text.length + href.length;
    if (left < 0) break;
    few.push(link);
  }
  return few;
}
