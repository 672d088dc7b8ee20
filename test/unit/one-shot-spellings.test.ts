import { expect, test } from "bun:test";
import fc from "fast-check";
import { inOwnWords } from "#shared/protocol/one-shot-spellings.ts";
import { Block } from "#shared/protocol/schema/block.ts";
import { ONE_SHOT_KINDS, ONE_SHOTS, type OneShotKind } from "#shared/protocol/schema/one-shot.ts";

/** Bodies that clients of browserless and Steel send (rules/one-shot-calls#spellings-of-others). */

const url = "https://example.com/";
const read = (kind: OneShotKind, raw: object): object => inOwnWords(kind, raw) as object;
/** Such a body is a valid call. */
const callOf = (kind: OneShotKind, raw: object) => ONE_SHOTS[kind].parse(read(kind, raw));

test("a screenshot as Puppeteer takes it is one of this API (rules/one-shot-calls#spellings-of-others)", () => {
  expect(
    read("screenshot", {
      url,
      selector: "main",
      options: { type: "jpeg", quality: 50, omitBackground: true, encoding: "binary" },
      gotoOptions: { waitUntil: "networkidle2", timeout: 5_000, referer: "https://a.test/" },
      viewport: { width: 800, height: 600, deviceScaleFactor: 2, isMobile: false },
      setExtraHTTPHeaders: { "x-a": "b" },
      bestAttempt: true,
    }),
  ).toEqual({
    url,
    selector: "main",
    format: "jpeg",
    quality: 50,
    omit_background: true,
    wait_until: "networkidle",
    load_timeout_s: 5,
    referer: "https://a.test/",
    viewport: { width: 800, height: 600, device_scale_factor: 2 },
    extra_headers: { "x-a": "b" },
    best_attempt: true,
  });
  expect(callOf("screenshot", { url, options: { fullPage: true } })).toMatchObject({
    full_page: true,
    format: "png",
  });
});

test("waits keep their meaning: milliseconds become seconds, and an element need not be seen (rules/one-shot-calls#spellings-of-others)", () => {
  expect(
    callOf("content", {
      url,
      waitForTimeout: 1_500,
      waitForFunction: { fn: "() => true", polling: "raf", timeout: 2_000 },
      waitForSelector: { selector: "#a", timeout: 3_000 },
      waitForEvent: { event: "done", timeout: 4_000 },
    }),
  ).toMatchObject({
    wait_for_seconds: 1.5,
    wait_for_function: { code: "() => true", timeout_s: 2 },
    wait_for_selector: { selector: "#a", state: "attached", timeout_s: 3 },
    wait_for_event: { event: "done", timeout_s: 4 },
  });
  const state = (more: object) =>
    (
      read("content", { url, waitForSelector: { selector: "#a", ...more } }) as {
        wait_for_selector: unknown;
      }
    ).wait_for_selector;
  expect(state({ visible: true })).toEqual({ selector: "#a", state: "visible" });
  expect(state({ hidden: true })).toEqual({ selector: "#a", state: "hidden" });
  // In this API's own words it has to be seen.
  expect(callOf("content", { url, wait_for_selector: "#a" })).toMatchObject({
    wait_for_selector: { selector: "#a", state: "visible" },
  });
});

test("a page is printed with Puppeteer's options, and without the header that it switches off", () => {
  const options = {
    format: "letter",
    printBackground: false,
    pageRanges: "1",
    preferCSSPageSize: true,
    headerTemplate: "<b>x</b>",
    margin: { top: "1cm" },
  };
  expect(read("pdf", { url, options: { ...options, displayHeaderFooter: true } })).toEqual({
    url,
    format: "letter",
    print_background: false,
    page_ranges: "1",
    prefer_css_page_size: true,
    header_template: "<b>x</b>",
    margin: { top: "1cm" },
  });
  const off = read("pdf", { url, options: { ...options, displayHeaderFooter: false } });
  expect(off).not.toHaveProperty("header_template");
});

test("what Steel calls delay, fullPage, format and proxyUrl is understood (rules/one-shot-calls#spellings-of-others)", () => {
  expect(read("screenshot", { url, fullPage: true, delay: 500 })).toEqual({
    url,
    full_page: true,
    wait_for_seconds: 0.5,
  });
  expect(
    read("scrape", {
      url,
      format: ["html", "markdown"],
      screenshot: true,
      pdf: false,
      proxyUrl: "http://p:1",
    }),
  ).toEqual({ url, formats: ["html", "markdown", "screenshot"], proxy: "http://p:1" });
  expect(callOf("scrape", { url, elements: [{ selector: "h1", timeout: 100 }] })).toMatchObject({
    elements: [{ selector: "h1", timeout_s: 0.1 }],
  });
});

test("what has no counterpart is refused by the name that its caller knows (rules/one-shot-calls#spellings-of-others)", () => {
  for (const [raw, name] of [
    [{ url, rejectRequestPattern: ["/ads/"] }, "rejectRequestPattern"],
    [{ url, gotoOptions: { signal: 1 } }, "gotoOptions"],
    [{ url, options: { encoding: "base64" } }, "encoding"],
    [{ url, viewport: { width: 800, height: 600, isMobile: true } }, "isMobile"],
  ] as const) {
    const { error } = ONE_SHOTS.screenshot.safeParse(read("screenshot", raw));
    expect({
      name,
      said: error?.issues.some(({ message, path }) =>
        `${path} ${message} ${JSON.stringify(error.issues)}`.includes(name),
      ),
    }).toEqual({ name, said: true });
  }
});

test("this API's own words win over those of others, and a body that is no object stays one", () => {
  expect(read("screenshot", { url, full_page: false, fullPage: true })).toEqual({
    url,
    full_page: false,
  });
  expect(inOwnWords("content", [1])).toEqual([1]);
  expect(inOwnWords("content", null)).toBeNull();
});

test("whatever a body holds is left to the schema, which refuses it (rules/one-shot-calls#failed-calls)", () => {
  const no_text = { toString: 1, valueOf: 1 };
  for (const [kind, raw, field] of [
    ["content", { url, gotoOptions: { waitUntil: no_text } }, "wait_until"],
    ["scrape", { url, formats: 5, screenshot: true }, "formats"],
    ["scrape", { url, formats: {}, format: "html" }, "formats"],
  ] as const)
    expect(ONE_SHOTS[kind].safeParse(read(kind, raw)).error?.issues[0]?.path[0]).toBe(field);
  const names = fc.constantFrom(
    ...["gotoOptions", "waitUntil", "waitForSelector", "waitForFunction", "viewport", "options"],
    ...["elements", "format", "formats", "screenshot", "pdf", "__proto__", "toString"],
  );
  const value = fc.letrec((tie) => ({
    any: fc.oneof({ maxDepth: 3 }, fc.jsonValue(), tie("object"), fc.array(tie("any"))),
    object: fc.dictionary(names, tie("any")),
  }));
  const bodies = fc.tuple(fc.constantFrom(...ONE_SHOT_KINDS), value.object);
  fc.assert(fc.property(bodies, ([kind, raw]) => void inOwnWords(kind, raw)));
});

test("a call names one page, and bounds hold before a lane is taken (rules/one-shot-calls#limits)", () => {
  const ok = (kind: OneShotKind, raw: object) => ONE_SHOTS[kind].safeParse(raw).success;
  expect(ok("content", { html: "<p>" })).toBeTrue();
  for (const raw of [
    {},
    { url, html: "<p>" },
    { html: "<p>", referer: "x" },
    { url: "file:///etc/passwd" },
    { url, timeout_s: 301 },
    { url, extra_headers: { "a b": "c" } },
    { url, extra_headers: { a: "b\r\nc: d" } },
    { url, extra_headers: { Host: "inside.test" } },
    { url, extra_headers: { "transfer-encoding": "chunked" } },
    { url, extra_headers: { "Proxy-Authorization": "Basic YTpi" } },
    { url, viewport: { width: 7_680, height: 4_320, device_scale_factor: 4 } },
    { url, dialog_policy: "wait" },
  ])
    expect({ raw, ok: ok("content", raw) }).toEqual({ raw, ok: false });
});

test("what a page sees of the browser, and does not request, has browserless's names too", () => {
  const call = callOf("content", {
    url,
    userAgent: "me/1",
    setJavaScriptEnabled: false,
    rejectResourceTypes: ["image", "font"],
    blockAds: true,
  });
  expect(call).toMatchObject({
    user_agent: "me/1",
    javascript: false,
    block: { types: ["image", "font"], ads: true },
  });
  expect(callOf("content", { url, blockAds: false }).block).toBeNull();
  const own = Block.parse({ hosts: ["ads.test"], types: ["media"] });
  expect(callOf("content", { url, block: own, rejectResourceTypes: ["image"] }).block).toEqual(own);
  expect(
    ONE_SHOTS.content.safeParse(read("content", { url, rejectResourceTypes: ["document"] }))
      .success,
  ).toBe(false);
});
