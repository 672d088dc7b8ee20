import type { Page } from "playwright-core";
import { givenFields } from "#shared/kit/given-fields.ts";
import type { SessionActionArgs } from "#shared/protocol/actions/session-actions.ts";
import { ActionFailure } from "./failure.ts";

type PdfOptions = NonNullable<Parameters<Page["pdf"]>[0]>;

/** In the place of a header or footer that is not given: Chromium would print one of its own. */
const EMPTY = "<span></span>";

function optionsOf(a: SessionActionArgs<"pdf">): PdfOptions {
  const { header_template, footer_template } = a;
  const has_sheet = a.width !== undefined && a.height !== undefined;
  const has_edges = header_template !== undefined || footer_template !== undefined;
  return givenFields({
    format: has_sheet ? undefined : a.format,
    width: a.width,
    height: a.height,
    landscape: a.landscape,
    printBackground: a.print_background,
    margin: a.margin && givenFields(a.margin),
    scale: a.scale,
    pageRanges: a.page_ranges,
    displayHeaderFooter: has_edges || undefined,
    headerTemplate: has_edges ? (header_template ?? EMPTY) : undefined,
    footerTemplate: has_edges ? (footer_template ?? EMPTY) : undefined,
    preferCSSPageSize: a.prefer_css_page_size,
    tagged: a.tagged,
    outline: a.outline,
  });
}

/** The page as a PDF. @throws ActionFailure invalid, naming the argument that Chromium does not take. */
export async function printPage(
  page: Pick<Page, "pdf">,
  a: SessionActionArgs<"pdf">,
): Promise<Buffer> {
  try {
    return await page.pdf(optionsOf(a));
  } catch (err) {
    const refusal = err instanceof Error ? unprintable(a, err.message) : null;
    if (refusal === null) throw err;
    throw new ActionFailure("invalid", { name: "Error", message: refusal });
  }
}

function unprintable({ format }: SessionActionArgs<"pdf">, message: string): string | null {
  if (/Unknown paper format/.test(message)) return `format: unknown paper size ${format}`;
  return /page range/i.test(message) ? "page_ranges: the page has no such pages" : null;
}
