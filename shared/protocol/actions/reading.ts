import { z } from "@hono/zod-openapi";
import { args, frame, in_frame, picture, point, selector } from "./arguments.ts";
import { looks } from "./entry.ts";

/** Actions that read the page without changing it. */
export const READING_ACTIONS = {
  screenshot: looks({
    args: args({ ...picture, frame }).refine(
      (a) => a.frame === undefined || a.selector !== undefined,
      { path: ["frame"], error: "needs selector" },
    ),
    summary: "Take a screenshot of the page or an element",
    example: { format: "png", full_page: true },
    script: [
      "/** The picture's bytes. */",
      `screenshot(options?: { format?: "png" | "jpeg" | "webp"; quality?: number; full_page?: boolean; selector?: Selector } & Frame & Timeout): Promise<Uint8Array>;`,
    ],
    is_picture: true,
  }),
  pdf: looks({
    args: args({
      format: z.string().max(20).default("A4"),
      landscape: z.boolean().default(false),
      print_background: z.boolean().default(true),
    }),
    summary: "Print the page (headless sessions)",
    example: { format: "A4" },
    script: [
      "pdf(options?: { format?: string; landscape?: boolean; print_background?: boolean } & Timeout): Promise<Uint8Array>;",
    ],
    is_picture: true,
  }),
  content: looks({
    args: in_frame,
    summary: "Read the HTML",
    example: {},
    script: ["/** The document's HTML. */", "content(options?: Frame & Timeout): Promise<string>;"],
  }),
  text: looks({
    args: args({ selector: selector.optional(), frame }),
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
    summary: "Read the page as Markdown",
    example: {},
    script: ["markdown(selector?: Selector, options?: Frame & Timeout): Promise<string>;"],
    positions: [["selector"]],
  }),
  links: looks({
    args: in_frame,
    summary: "List the links",
    example: {},
    script: ["links(options?: Frame & Timeout): Promise<{ href: string; text: string }[]>;"],
  }),
  pick: looks({
    args: args({ ...point, selector: selector.optional(), frame }).refine(
      (a) => (a.selector !== undefined) !== (a.x !== undefined && a.y !== undefined),
      { error: "give either selector, or x and y" },
    ),
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
