import type { Locator } from "playwright-core";
import type { SessionActionArgs } from "#shared/protocol/actions/session-actions.ts";
import type { ActionContext, PageActions } from "./context.ts";
import { refused } from "./failure.ts";
import { type FrameArg, frameOf } from "./frames.ts";
import { inPage } from "./in-page.ts";
import { markdownOf } from "./markdown.ts";
import { printPage } from "./print.ts";
import { asPlaywright } from "./selectors.ts";

/** Actions that look at the page as it is: a missing element is an error at once. */

interface PictureResult {
  mime: string;
  content_base64: string;
}

async function present(
  ctx: ActionContext,
  { selector = "body", frame }: { selector?: string; frame?: FrameArg },
): Promise<Locator> {
  const found = (await frameOf(ctx, frame)).locator(asPlaywright(selector));
  if ((await found.count()) === 0) throw refused(`no element matches ${selector}`);
  return found.first();
}

/** Playwright would wait for it to appear until the deadline. */
async function shown(
  ctx: ActionContext,
  a: { selector?: string; frame?: FrameArg },
  selector: string,
): Promise<Locator> {
  const element = await present(ctx, a);
  if (await element.isVisible()) return element;
  throw refused(`${selector} is hidden or has no size: there is nothing to take a screenshot of`);
}

const content = async (ctx: ActionContext, a: SessionActionArgs<"content">): Promise<string> =>
  (await frameOf(ctx, a.frame)).content();

async function text(ctx: ActionContext, a: SessionActionArgs<"text">): Promise<string> {
  const element = await present(ctx, a);
  // biome-ignore lint/performance/useDomNodeTextContent: what is shown, not what is in the document
  return element.innerText({ timeout: ctx.timeout_ms });
}

async function markdown(ctx: ActionContext, a: SessionActionArgs<"markdown">): Promise<string> {
  const element = await present(ctx, a);
  return markdownOf(element, ctx.timeout_ms);
}

const MAX_LINKS = 20_000;
export const LINKS = inPage<
  void,
  { href: string; text: string }[]
>(`() => [...document.querySelectorAll("a[href], area[href]")].slice(0, ${MAX_LINKS}).map((a) => ({
  href: typeof a.href === "string" ? a.href : a.href.baseVal,
  text: (a.innerText ?? a.getAttribute("alt") ?? "").trim().slice(0, 500),
}))`);

const links = async (
  ctx: ActionContext,
  a: SessionActionArgs<"links">,
): Promise<{ href: string; text: string }[]> => (await frameOf(ctx, a.frame)).evaluate(LINKS);

const picture = (mime: string, bytes: Buffer): PictureResult => ({
  mime,
  content_base64: bytes.toString("base64"),
});

/** `clip` is a part of the whole page: otherwise Playwright would cut it to what the window shows. */
const partOf = (full_page: boolean, clip: SessionActionArgs<"screenshot">["clip"]) =>
  clip === undefined ? { fullPage: full_page } : { fullPage: true, clip };

async function screenshot(
  ctx: ActionContext,
  a: SessionActionArgs<"screenshot">,
): Promise<PictureResult> {
  const { format, full_page, selector, clip, omit_background } = a;
  // A PNG has no quality setting; asking for one is no reason to refuse the screenshot.
  const quality = format === "png" ? undefined : a.quality;
  const how = {
    type: format,
    quality,
    timeout: ctx.timeout_ms,
    ...(omit_background && { omitBackground: true }),
  };
  const bytes =
    selector === undefined
      ? await ctx.pages.active().screenshot({ ...how, ...partOf(full_page, clip) })
      : await (await shown(ctx, a, selector)).screenshot(how);
  return picture(`image/${format}`, bytes);
}

const pdf = async (ctx: ActionContext, a: SessionActionArgs<"pdf">): Promise<PictureResult> =>
  picture("application/pdf", await printPage(ctx.pages.active(), a));

export const READING = {
  screenshot,
  pdf,
  content,
  text,
  markdown,
  links,
} satisfies Partial<PageActions>;
