import { expect, test } from "bun:test";
import { SESSION_ACTIONS } from "#shared/protocol/actions/session-actions.ts";
import type { ActionFailure } from "#worker/browser/actions/failure.ts";
import { printPage } from "#worker/browser/actions/print.ts";
import { demandPixels } from "#worker/browser/one-shot/picture.ts";

/** What Playwright is asked for where a page is printed or its picture taken. */

const { pdf, screenshot } = SESSION_ACTIONS;

/** What Chromium would have been told. */
async function printedWith(args: object): Promise<unknown> {
  let told: unknown;
  const page = {
    pdf: async (options: unknown) => {
      told = options;
      return Buffer.from("%PDF");
    },
  };
  await printPage(page as never, pdf.args.parse(args));
  return told;
}

test("a page is printed on the sheet that was asked for (rules/session-actions#print-a-page)", async () => {
  expect(await printedWith({})).toEqual({ format: "A4", landscape: false, printBackground: true });
  expect(
    await printedWith({
      width: "8in",
      height: 600,
      margin: { top: "1cm" },
      scale: 0.5,
      page_ranges: "1-2, 5",
      prefer_css_page_size: true,
      tagged: false,
      outline: true,
    }),
  ).toEqual({
    width: "8in",
    height: 600,
    landscape: false,
    printBackground: true,
    margin: { top: "1cm" },
    scale: 0.5,
    pageRanges: "1-2, 5",
    preferCSSPageSize: true,
    tagged: false,
    outline: true,
  });
});

test("a header alone leaves no footer of the browser's own (rules/session-actions#print-a-page)", async () => {
  expect(await printedWith({ header_template: "<b>top</b>" })).toMatchObject({
    displayHeaderFooter: true,
    headerTemplate: "<b>top</b>",
    footerTemplate: "<span></span>",
  });
});

test("what Chromium does not take names its argument, and other failures stay what they are", async () => {
  const failing = (message: string) => ({
    pdf: () => Promise.reject(new Error(message)),
  });
  const print = (message: string) =>
    printPage(failing(message) as never, pdf.args.parse({ format: "A9" })).catch(
      (err: ActionFailure) => err.message,
    );
  expect(await print("page.pdf: Unknown paper format: A9")).toBe("format: unknown paper size A9");
  expect(await print("Protocol error (Page.printToPDF): Page range exceeds page count")).toBe(
    "page_ranges: the page has no such pages",
  );
  expect(await print("Target closed")).toBe("Target closed");
});

test("lengths and page ranges are judged before a page is asked (rules/session-actions#print-a-page)", () => {
  const ok = (args: object) => pdf.args.safeParse(args).success;
  expect(ok({ margin: { top: "0.5in", left: 3 } })).toBeTrue();
  for (const bad of [
    { width: "wide" },
    { margin: { top: "1em" } },
    { page_ranges: "all" },
    { scale: 3 },
    { margin: { middle: 1 } },
  ])
    expect({ bad, ok: ok(bad) }).toEqual({ bad, ok: false });
});

test("a screenshot has one way to say which part is meant (rules/session-actions#screenshots)", () => {
  const clip = { x: 0, y: 0, width: 10, height: 10 };
  const faultOf = (args: object) =>
    screenshot.args.safeParse(args).error?.issues.map(({ path, message }) => [path[0], message]);
  expect(faultOf({ clip })).toBeUndefined();
  const both = [["clip", "cannot be used with full_page or selector"]];
  expect(faultOf({ clip, full_page: true })).toEqual(both);
  expect(faultOf({ clip, selector: "h1" })).toEqual(both);
  expect(faultOf({ frame: "iframe" })).toEqual([["frame", "needs selector"]]);
  expect(faultOf({ clip: { x: 0, y: 0, width: 30_000, height: 30_000 } })).toEqual([
    ["clip", "must be at most 40 million pixels"],
  ]);
});

test("a page that is too large for its scale is refused before a picture is taken (rules/one-shot-calls#limits)", () => {
  const page = { x: 0, y: 0, width: 1_000, height: 4_000 };
  demandPixels(page, 3);
  expect(() => demandPixels(page, 4)).toThrow("more than 40 million pixels with its scale of 4");
});
