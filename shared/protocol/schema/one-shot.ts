import { z } from "@hono/zod-openapi";
import { frame, load_state, selector } from "../actions/arguments.ts";
import { pdf_shape, screenshot_shape, screenshotFault } from "../actions/pictures.ts";
import { MAX_CODE_BYTES, MAX_JSON_BODY_BYTES, MAX_URL_LENGTH, ONE_SHOT } from "../limits.ts";
import { type BrowserOptionName, ownBrowserOptions, Viewport } from "./browser-options.ts";
import { SessionCookie } from "./cookie.ts";
import { DialogPolicy } from "./dialog.ts";
import { HEADER_NAME, OF_CONNECTIONS } from "./header-names.ts";
import { TargetUrl } from "./job.ts";
import { egress, proxy, worker_id } from "./lane-choice.ts";
import { Picture } from "./session.ts";

/** Calls that open a page on a lane, answer what is in it, and leave nothing behind (rules/one-shot-calls). */
export const ONE_SHOT_KINDS = [
  "screenshot",
  "pdf",
  "content",
  "markdown",
  "links",
  "scrape",
  "evaluate",
] as const;
export const OneShotKind = z.enum(ONE_SHOT_KINDS);
export type OneShotKind = z.infer<typeof OneShotKind>;

const seconds = (description: string) => ({ description, "x-unit": "s" });
const most_s = ONE_SHOT.timeout_s.max;
const limit_s = z.number().min(0).max(most_s).optional();
const code = z.string().min(1).max(MAX_CODE_BYTES);

const WaitForSelector = z
  .union([
    selector,
    z.strictObject({
      selector,
      state: z.enum(["attached", "detached", "visible", "hidden"]).default("visible"),
      timeout_s: limit_s,
    }),
  ])
  .transform((given) =>
    typeof given === "string" ? { selector: given, state: "visible" as const } : given,
  );
const WaitForFunction = z
  .union([code, z.strictObject({ code, timeout_s: limit_s })])
  .transform((given) => (typeof given === "string" ? { code: given } : given));
const event = z.string().min(1).max(200);
const WaitForEvent = z
  .union([event, z.strictObject({ event, timeout_s: limit_s })])
  .transform((given) => (typeof given === "string" ? { event: given } : given));

// biome-ignore lint/suspicious/noControlCharactersInRegex: controls are exactly what is refused
const HEADER_VALUE = /^[^\u0000-\u0008\u000a-\u001f\u007f]*$/;
const ExtraHeaders = z
  .record(
    z
      .string()
      .regex(HEADER_NAME, "must be the name of a header")
      .refine((name) => !OF_CONNECTIONS.test(name), "is set by the browser alone"),
    z.string().max(8_192).regex(HEADER_VALUE, "must not contain control characters"),
  )
  .refine((headers) => Object.keys(headers).length <= 100, "must be at most 100 headers");

const OneShotViewport = Viewport.extend({
  device_scale_factor: z.number().min(0.1).max(4).default(1).meta({
    description: "Pixels of the picture for each CSS pixel.",
  }),
}).refine(
  ({ width, height, device_scale_factor: scale }) =>
    width * height * scale * scale <= ONE_SHOT.pixels,
  { error: `must be at most ${ONE_SHOT.pixels / 1e6} million pixels with its scale` },
);

/** What a call has fields of its own for, of another shape. */
const { viewport: _viewport, extra_headers: _headers, ...browser_options } = ownBrowserOptions;

type OneShotBrowserOption = Exclude<BrowserOptionName, "viewport" | "extra_headers">;

/** What pages of a call see of the browser, as sessions and jobs name it too. */
export const browserOptionsOfCall = (
  call: Pick<OneShotCall, OneShotBrowserOption>,
): Pick<OneShotCall, OneShotBrowserOption> =>
  Object.fromEntries(
    Object.keys(browser_options).map((name) => [name, call[name as OneShotBrowserOption]]),
  ) as Pick<OneShotCall, OneShotBrowserOption>;

/** What all of them take. Durations in seconds. */
const page_shape = {
  url: TargetUrl.optional().meta({ description: "The page to open; either this or html." }),
  html: z.string().min(1).max(MAX_JSON_BODY_BYTES).optional().meta({
    description: "The page itself, shown at about:blank; either this or url.",
  }),
  wait_until: load_state.default("load").meta({
    description: "When the page counts as open. networkidle: nothing was requested for 0.5 s.",
  }),
  load_timeout_s: limit_s.meta(
    seconds("How long the page may take to open; by default as long as the whole call has."),
  ),
  wait_for_seconds: z
    .number()
    .min(0)
    .max(most_s)
    .optional()
    .meta(seconds("A pause once it is open.")),
  wait_for_function: WaitForFunction.optional().meta({
    description: "JavaScript that is asked until its value is true: an expression or a function.",
  }),
  wait_for_selector: WaitForSelector.optional().meta({
    description: "An element that has to be there: its selector, or that with state and timeout_s.",
  }),
  wait_for_event: WaitForEvent.optional().meta({
    description: "An event that the page has to dispatch, by its name.",
  }),
  best_attempt: z.boolean().default(false).meta({
    description:
      "Go on with the page as it is when it does not open, or a wait does not end, in time.",
  }),
  referer: z
    .string()
    .max(MAX_URL_LENGTH)
    .regex(/^\P{Cc}*$/u, "must not contain control characters")
    .optional()
    .meta({ description: "The Referer that the browser sends." }),
  cookies: z.array(SessionCookie).max(1_000).default([]).meta({
    description: "Set before the page is opened; one without url and domain is for the page.",
  }),
  extra_headers: ExtraHeaders.default({}).meta({
    description: "Sent with every request of the page, whichever host it goes to.",
  }),
  viewport: OneShotViewport.optional(),
  headless: z.boolean().optional().meta({
    description:
      "Without a window. By default /pdf is, because only such browsers print, and the others take the lane as it is.",
  }),
  dialog_policy: DialogPolicy.exclude(["wait"]).default("dismiss").meta({
    description: "What happens to a dialog that the page opens.",
  }),
  ...browser_options,
  egress,
  proxy,
  worker_id,
  as_job: z.boolean().default(false).meta({
    description:
      "Make a job of it too, which captures the page and is kept; its id is in the header Flotilla-Job.",
  }),
  timeout_s: z
    .number()
    .min(ONE_SHOT.timeout_s.min)
    .max(most_s)
    .default(ONE_SHOT.timeout_s.default)
    .meta(seconds("How long all of it may take, once there is a lane.")),
};

interface Page {
  url?: string | undefined;
  html?: string | undefined;
  referer?: string | undefined;
  viewport?: unknown;
  cookies: readonly unknown[];
  extra_headers: object;
  worker_id: string | null;
  as_job: boolean;
}

/** What jobs have no option for. */
const notInJobs = ({ html, viewport, cookies, extra_headers, worker_id }: Page): string[] =>
  Object.entries({
    html: html !== undefined,
    viewport: viewport !== undefined,
    cookies: cookies.length > 0,
    extra_headers: Object.keys(extra_headers).length > 0,
    worker_id: worker_id !== null,
  })
    .filter(([, is_given]) => is_given)
    .map(([name]) => name);

function judgePage(page: Page, ctx: z.RefinementCtx): void {
  const { url, html, referer, as_job } = page;
  const fail = (path: string, message: string) =>
    ctx.addIssue({ code: "custom", path: [path], message });
  if ((url === undefined) === (html === undefined))
    fail("url", "or html is required, and only one");
  if (html !== undefined && referer !== undefined) fail("referer", "is only for url");
  if (as_job) for (const name of notInJobs(page)) fail(name, "cannot be used with as_job");
}

const SCRAPE_FORMATS = ["html", "text", "markdown", "links", "screenshot", "pdf"] as const;

const ScrapeElement = z.strictObject({
  selector,
  timeout_s: limit_s.meta(seconds("How long it may take to be there; 10 by default.")),
});

/** The body of each call. */
export const ONE_SHOTS = {
  screenshot: z
    .strictObject({ ...page_shape, ...screenshot_shape })
    .superRefine((call, ctx) => {
      judgePage(call, ctx);
      const fault = screenshotFault(call);
      if (fault) ctx.addIssue({ code: "custom", path: fault.path, message: fault.error });
    })
    .openapi("ScreenshotCall"),
  pdf: z
    .strictObject({ ...page_shape, ...pdf_shape })
    .superRefine(judgePage)
    .openapi("PdfCall"),
  content: z
    .strictObject({ ...page_shape, frame })
    .superRefine(judgePage)
    .openapi("ContentCall"),
  markdown: z
    .strictObject({ ...page_shape, selector: selector.optional(), frame })
    .superRefine(judgePage)
    .openapi("MarkdownCall"),
  links: z
    .strictObject({ ...page_shape, frame })
    .superRefine(judgePage)
    .openapi("LinksCall"),
  scrape: z
    .strictObject({
      ...page_shape,
      elements: z.array(ScrapeElement).max(100).default([]).meta({
        description: "What to read: every element that a selector names.",
      }),
      formats: z.array(z.enum(SCRAPE_FORMATS)).max(SCRAPE_FORMATS.length).default([]).meta({
        description: "What to read of the whole page; html where neither is given.",
      }),
    })
    .superRefine(judgePage)
    .openapi("ScrapeCall"),
  evaluate: z
    .strictObject({
      ...page_shape,
      code: code.meta({ description: "As in a session: an expression, a function or statements." }),
      arg: z.unknown().optional().meta({ description: "What a function is called with." }),
      frame,
    })
    .superRefine(judgePage)
    .openapi("EvaluateCall"),
} as const satisfies Record<OneShotKind, z.ZodObject>;
export type OneShotCalls = { [K in OneShotKind]: z.infer<(typeof ONE_SHOTS)[K]> };
export type OneShotCall = OneShotCalls[OneShotKind];

/** In every answer that is JSON: where the page came to, and with which status; null where it asked no server. */
const where = { url: z.string(), title: z.string(), status: z.int().nullable() };
const PageLink = z.object({ href: z.string(), text: z.string() });

/** A page in a few words, as it describes itself; null what it does not say. */
export const PageMetadata = z.object({
  title: z.string(),
  description: z.string().nullable(),
  language: z.string().nullable(),
  canonical: z.string().nullable(),
  author: z.string().nullable(),
  published: z.string().nullable(),
  image: z.string().nullable(),
});
export type PageMetadata = z.infer<typeof PageMetadata>;

/** An element as /scrape reads it; its box in CSS pixels of the document. */
export const ScrapedElement = z.object({
  text: z.string(),
  html: z.string(),
  attributes: z.array(z.object({ name: z.string(), value: z.string() })),
  width: z.number(),
  height: z.number(),
  top: z.number(),
  left: z.number(),
});
export type ScrapedElement = z.infer<typeof ScrapedElement>;

/** The answers that are JSON; of the others, where `Accept` asks for JSON. */
export const ONE_SHOT_ANSWERS = {
  screenshot: z.object({ ...where, ...Picture.shape }).openapi("ScreenshotAnswer"),
  pdf: z.object({ ...where, ...Picture.shape }).openapi("PdfAnswer"),
  content: z.object({ ...where, content: z.string() }).openapi("ContentAnswer"),
  markdown: z.object({ ...where, markdown: z.string() }).openapi("MarkdownAnswer"),
  links: z.object({ ...where, links: z.array(PageLink) }).openapi("LinksAnswer"),
  scrape: z
    .object({
      ...where,
      metadata: PageMetadata,
      data: z
        .array(z.object({ selector: z.string(), results: z.array(ScrapedElement) }))
        .optional()
        .meta({ description: "In the order of elements." }),
      content: z
        .object({
          html: z.string().optional(),
          text: z.string().optional(),
          markdown: z.string().optional(),
        })
        .optional(),
      links: z.array(PageLink).optional(),
      screenshot: Picture.optional(),
      pdf: Picture.optional(),
    })
    .openapi("ScrapeAnswer"),
  evaluate: z.object({ ...where, result: z.unknown() }).openapi("EvaluateAnswer"),
} as const;
export type OneShotAnswers = { [K in OneShotKind]: z.infer<(typeof ONE_SHOT_ANSWERS)[K]> };

/** What a worker answers to the call `one_shot`: `text` or `base64`, or the blob that its bridge gives. */
export const OneShotResult = z.object({
  mime: z.string().max(200),
  status: z.int().nullable(),
  size: z.int().min(0),
  text: z.string().optional(),
  base64: z.string().optional(),
  blob: z.string().max(64).optional(),
});
export type OneShotResult = z.infer<typeof OneShotResult>;

/**
 * Arguments of that call. `as_json`: the answer is JSON whatever is asked for. `is_open`: the page is there already, with this
 * status of its answer.
 */
export const OneShotWish = z.object({
  kind: OneShotKind,
  as_json: z.boolean(),
  is_open: z.object({ status: z.int().nullable() }).optional(),
  call: z.record(z.string(), z.unknown()),
});
