import { z } from "@hono/zod-openapi";
import { SNAPSHOT_CHARS } from "../limits.ts";
import { Picked } from "../schema/recorded-input.ts";
import { args, frame, in_frame, point, selector } from "./arguments.ts";
import { looks } from "./entry.ts";
import { pdf_shape, screenshot_shape, screenshotFault } from "./pictures.ts";
import { aria_piece, links, picture_bytes, plain_text } from "./results.ts";

/** Actions that read the page without changing it. */
export const READING_ACTIONS = {
  screenshot: looks({
    args: args(screenshot_shape).superRefine((a, ctx) => {
      const fault = screenshotFault(a);
      if (fault) ctx.addIssue({ code: "custom", path: fault.path, message: fault.error });
    }),
    result: picture_bytes,
    summary: "Take a screenshot of the page or an element",
    example: { format: "png", full_page: true },
    script: [
      "/** The picture's bytes. */",
      `screenshot(options?: { format?: "png" | "jpeg" | "webp"; quality?: number; full_page?: boolean; selector?: Selector; clip?: { x: number; y: number; width: number; height: number }; omit_background?: boolean } & Frame & Timeout): Promise<Uint8Array>;`,
    ],
    is_picture: true,
  }),
  pdf: looks({
    args: args(pdf_shape),
    result: picture_bytes,
    summary: "Print the page (headless sessions)",
    example: { format: "A4" },
    script: [
      "pdf(options?: { format?: string; landscape?: boolean; print_background?: boolean; width?: string | number; height?: string | number; margin?: { top?: string | number; right?: string | number; bottom?: string | number; left?: string | number }; scale?: number; page_ranges?: string; header_template?: string; footer_template?: string; prefer_css_page_size?: boolean; tagged?: boolean; outline?: boolean } & Timeout): Promise<Uint8Array>;",
    ],
    is_picture: true,
  }),
  aria_snapshot: looks({
    args: args({
      max_chars: z
        .int()
        .min(SNAPSHOT_CHARS.min)
        .max(SNAPSHOT_CHARS.max)
        .default(SNAPSHOT_CHARS.default),
      /** `next_line` of the piece before. */
      from_line: z.int().min(0).max(1_000_000).default(0),
    }),
    result: aria_piece,
    summary: "Read the accessibility tree, with references to its elements",
    example: {},
    script: [
      "/** The page as lines of role, name, state and [ref=e5]; ref=e5 is a selector of that element until the next navigation. */",
      "aria_snapshot(options?: { max_chars?: number; from_line?: number } & Timeout): Promise<{ snapshot: string; lines: number; next_line: number | null }>;",
    ],
  }),
  content: looks({
    args: in_frame,
    result: plain_text,
    summary: "Read the HTML",
    example: {},
    script: ["/** The document's HTML. */", "content(options?: Frame & Timeout): Promise<string>;"],
  }),
  text: looks({
    args: args({ selector: selector.optional(), frame }),
    result: plain_text,
    summary: "Read the visible text",
    example: { selector: "main" },
    script: [
      "/** The visible text of the page or of one element; a missing element is an error immediately. */",
      "text(selector?: Selector, options?: Frame & Timeout): Promise<string>;",
    ],
    positions: [["selector"]],
  }),
  markdown: looks({
    args: args({ selector: selector.optional(), frame }),
    result: plain_text,
    summary: "Read the page as Markdown",
    example: {},
    script: ["markdown(selector?: Selector, options?: Frame & Timeout): Promise<string>;"],
    positions: [["selector"]],
  }),
  links: looks({
    args: in_frame,
    result: links,
    summary: "List the links",
    example: {},
    script: ["links(options?: Frame & Timeout): Promise<{ href: string; text: string }[]>;"],
  }),
  pick: looks({
    args: args({ ...point, selector: selector.optional(), frame }).refine(
      (a) => (a.selector !== undefined) !== (a.x !== undefined && a.y !== undefined),
      { error: "give either selector, or x and y" },
    ),
    result: Picked,
    summary: "Say what is at a point of the picture, and how to select it",
    example: { x: 320, y: 240 },
    script: [
      "/** What is at a point of the picture, or what a selector names: role, name, box, and selectors with their matches. */",
      "pick(x: number, y: number, options?: Timeout): Promise<any>;",
      "pick(selector: Selector, options?: Frame & Timeout): Promise<any>;",
    ],
    positions: [["x", "y"], ["selector"]],
  }),
} as const;
