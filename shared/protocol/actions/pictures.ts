import { z } from "@hono/zod-openapi";
import { MAX_CLIP_PIXELS } from "../limits.ts";
import { frame, picture } from "./arguments.ts";

/** What a screenshot and a print of a page take, in a session and in one call. */

const side = z.number().min(1).max(32_767);

export const screenshot_shape = {
  ...picture,
  /** A part of the page, in CSS pixels from its upper left corner. */
  clip: z
    .strictObject({
      x: z.number().min(0).max(1e6),
      y: z.number().min(0).max(1e6),
      width: side,
      height: side,
    })
    .optional(),
  /** What the page leaves without a background is transparent; not in a JPEG. */
  omit_background: z.boolean().optional(),
  frame,
};

interface ScreenshotWish {
  full_page: boolean;
  selector?: string | undefined;
  clip?: { width: number; height: number } | undefined;
  frame?: unknown;
}

/** Two ways to say which part is meant, or a part that no browser can hold, by the field to blame. */
export function screenshotFault(a: ScreenshotWish): { path: [string]; error: string } | null {
  if (a.frame !== undefined && a.selector === undefined)
    return { path: ["frame"], error: "needs selector" };
  if (a.clip !== undefined && (a.full_page || a.selector !== undefined))
    return { path: ["clip"], error: "cannot be used with full_page or selector" };
  if (a.clip !== undefined && a.clip.width * a.clip.height > MAX_CLIP_PIXELS)
    return { path: ["clip"], error: `must be at most ${MAX_CLIP_PIXELS / 1e6} million pixels` };
  return null;
}

/** A number counts CSS pixels; `px`, `in`, `cm` and `mm` are understood. */
const length = z.union([
  z.number().min(0).max(100_000),
  z
    .string()
    .max(20)
    .regex(/^\d{1,6}(\.\d{1,4})?(px|in|cm|mm)?$/, "must be a length such as 10mm, 0.5in or 40px"),
]);
const template = z.string().max(20_000).optional();

export const pdf_shape = {
  format: z.string().max(20).default("A4"),
  landscape: z.boolean().default(false),
  print_background: z.boolean().default(true),
  /** Together they replace `format`. */
  width: length.optional(),
  height: length.optional(),
  margin: z
    .strictObject({
      top: length.optional(),
      right: length.optional(),
      bottom: length.optional(),
      left: length.optional(),
    })
    .optional(),
  scale: z.number().min(0.1).max(2).optional(),
  page_ranges: z
    .string()
    .max(200)
    .regex(/^[\d\s,-]*$/, "must be pages such as 1-5, 8, 11-13")
    .optional(),
  /** HTML with elements of the classes date, title, url, pageNumber and totalPages. */
  header_template: template,
  footer_template: template,
  prefer_css_page_size: z.boolean().optional(),
  /** With a structure for screen readers, and with an outline of the headings. */
  tagged: z.boolean().optional(),
  outline: z.boolean().optional(),
};
