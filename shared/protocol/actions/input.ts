import { z } from "@hono/zod-openapi";
import { ACTION_TIMEOUT_S, MAX_CODE_BYTES, MAX_URL_LENGTH } from "../limits.ts";
import {
  args,
  button,
  frame,
  InputFile,
  load_state,
  point,
  position,
  StartUrl,
  selector,
  text,
} from "./arguments.ts";
import { acts, looks } from "./entry.ts";
import { download, gesture, gestureFor, gone, nothing, scrolled, tab } from "./results.ts";

/** Actions that a person could perform on a page, and those that wait for it or run code in it. */
export const INPUT_ACTIONS = {
  navigate: acts({
    args: args({
      url: StartUrl,
      wait_until: load_state.default("load"),
      referer: z.string().max(MAX_URL_LENGTH).optional(),
    }),
    result: gone,
    summary: "Go to a URL",
    example: { url: "https://example.com/" },
    script: [
      `navigate(url: string, options?: { wait_until?: LoadState | "commit"; referer?: string } & Timeout): Promise<{ status: number | null }>;`,
    ],
    positions: [["url"]],
  }),
  click: acts({
    args: args({
      selector: selector.optional(),
      position,
      ...point,
      button,
      click_count: z.int().min(1).max(10).default(1),
      /** Waits for what the click causes: the popup becomes the active tab, the download is whole. */
      wait_for: z.enum(["popup", "download"]).optional(),
      frame,
    }).refine((a) => (a.selector !== undefined) !== (a.x !== undefined && a.y !== undefined), {
      error: "give either selector, or x and y",
    }),
    result: gestureFor(z.union([tab, download, nothing])),
    summary: "Click an element, or a point of the page",
    example: { selector: "text=More" },
    script: [
      "/** wait_for: resolves when the popup is the active tab (to its Tab), or the download is whole (to its Download). */",
      `click(selector: Selector, options?: { button?: "left" | "middle" | "right"; click_count?: number; position?: Point; wait_for?: "popup" | "download" } & Frame & Timeout): Promise<any>;`,
      "/** At a point of the page, in CSS pixels. */",
      `click(x: number, y: number, options?: { button?: "left" | "middle" | "right"; click_count?: number } & Timeout): Promise<any>;`,
    ],
    positions: [["x", "y"], ["selector"]],
  }),
  fill: acts({
    args: args({ selector, text, frame }),
    result: nothing,
    summary: "Set the text of a field",
    example: { selector: "#name", text: "Ada" },
    script: [
      "/** Replaces the content of the field. */",
      "fill(selector: Selector, text: string, options?: Frame & Timeout): Promise<null>;",
    ],
    positions: [["selector", "text"]],
  }),
  type: acts({
    args: args({
      text,
      selector: selector.optional(),
      delay_ms: z.number().min(0).max(10_000).default(0),
      frame,
    }),
    result: nothing,
    summary: "Send keys, one by one",
    example: { text: "hello", delay_ms: 20 },
    script: [
      "/** Key by key, into the field or into what has the focus. */",
      "type(selector: Selector, text: string, options?: { delay_ms?: number } & Frame & Timeout): Promise<null>;",
      "type(text: string, options?: { delay_ms?: number } & Timeout): Promise<null>;",
    ],
    // As Playwright's keyboard with one text, as its page with two.
    positions: [["selector", "text"], ["text"]],
  }),
  press: acts({
    args: args({ key: z.string().min(1).max(100), selector: selector.optional(), frame }),
    result: gesture,
    summary: "Press one key or a combination",
    example: { key: "Enter" },
    script: [
      `/** "Enter", "Control+A", … */`,
      "press(selector: Selector, key: string, options?: Frame & Timeout): Promise<null>;",
      "press(key: string, options?: Timeout): Promise<null>;",
    ],
    positions: [["selector", "key"], ["key"]],
  }),
  hover: looks({
    args: args({ selector, position, frame }),
    result: nothing,
    summary: "Move the pointer over an element",
    example: { selector: "#menu" },
    script: [
      "hover(selector: Selector, options?: { position?: Point } & Frame & Timeout): Promise<null>;",
    ],
    positions: [["selector"]],
  }),
  drag_and_drop: acts({
    args: args({
      source: selector,
      target: selector,
      source_position: position,
      target_position: position,
      frame,
    }),
    result: nothing,
    summary: "Drag one element onto another",
    example: { source: "#card-3", target: "#done" },
    script: [
      "drag_and_drop(source: Selector, target: Selector, options?: { source_position?: Point; target_position?: Point } & Frame & Timeout): Promise<null>;",
    ],
    positions: [["source", "target"]],
  }),
  mouse: acts({
    args: args({
      op: z.enum(["move", "down", "up"]),
      ...point,
      button,
      /** Intermediate moves on the way to the point. */
      steps: z.int().min(1).max(1_000).default(1),
    })
      .refine((a) => (a.x === undefined) === (a.y === undefined), { error: "x and y go together" })
      .refine((a) => a.op !== "move" || a.x !== undefined, { error: "move needs x and y" }),
    result: gesture,
    summary: "Move the pointer, press or release a button",
    example: { op: "move", x: 320, y: 240, steps: 10 },
    script: [
      `mouse(op: "move", x: number, y: number, options?: { steps?: number } & Timeout): Promise<null>;`,
      `mouse(op: "down" | "up", options?: { x?: number; y?: number; button?: "left" | "middle" | "right" } & Timeout): Promise<null>;`,
    ],
    positions: [["op", "x", "y"]],
  }),
  select_option: acts({
    args: args({ selector, values: z.array(z.string().max(10_000)).max(1_000), frame }),
    result: gestureFor(z.array(z.string())),
    summary: "Select options of a list",
    example: { selector: "#size", values: ["m"] },
    script: [
      "select_option(selector: Selector, values: string | string[], options?: Frame & Timeout): Promise<string[]>;",
    ],
    positions: [["selector", "values"]],
  }),
  check: acts({
    args: args({ selector, frame }),
    result: gesture,
    summary: "Tick a checkbox",
    example: { selector: "#agree" },
    script: ["check(selector: Selector, options?: Frame & Timeout): Promise<null>;"],
    positions: [["selector"]],
  }),
  uncheck: acts({
    args: args({ selector, frame }),
    result: gesture,
    summary: "Untick a checkbox",
    example: { selector: "#agree" },
    script: ["uncheck(selector: Selector, options?: Frame & Timeout): Promise<null>;"],
    positions: [["selector"]],
  }),
  scroll: acts({
    args: args({
      amount: z.number().min(-1e7).max(1e7).optional(),
      selector: selector.optional(),
      frame,
    }).refine((a) => (a.selector !== undefined) !== (a.amount !== undefined), {
      error: "give either amount or selector",
    }),
    result: scrolled,
    summary: "Scroll by pixels, or to an element",
    example: { amount: 800 },
    script: [
      "/** By a number of pixels, or to an element. */",
      "scroll(to: number | Selector, options?: Frame & Timeout): Promise<Point>;",
    ],
    positions: [["amount"], ["selector"]],
  }),
  wait: looks({
    args: args({
      selector: selector.optional(),
      state: z.enum(["attached", "detached", "visible", "hidden"]).optional(),
      load_state: load_state.exclude(["commit"]).optional(),
      seconds: z.number().min(0).max(ACTION_TIMEOUT_S.max).optional(),
      frame,
    }).refine(
      (a) => a.selector !== undefined || a.load_state !== undefined || a.seconds !== undefined,
      { error: "give selector, load_state or seconds" },
    ),
    result: nothing,
    summary: "Wait for an element, a load state or a length of time",
    example: { selector: "#done", state: "visible" },
    script: [
      `/** For an element (state: "visible" by default), a load state, or seconds. */`,
      `wait(selector: Selector, options?: { state?: "attached" | "detached" | "visible" | "hidden" } & Frame & Timeout): Promise<null>;`,
      "wait(state: LoadState, options?: Timeout): Promise<null>;",
      "wait(seconds: number): Promise<null>;",
    ],
    positions: [["seconds"], ["load_state"], ["selector"]],
  }),
  evaluate: acts({
    args: args({
      code: z.string().min(1).max(MAX_CODE_BYTES),
      /** Any JSON value. A recursive schema has no place in the OpenAPI document. */
      arg: z.unknown().optional(),
      frame,
    }),
    result: z.unknown(),
    summary: "Run JavaScript in the page",
    example: { code: "document.title" },
    script: [
      "/** Runs in the page; sees the page's document and arg, but nothing of the script. The result is JSON. */",
      "evaluate<T = any, A = any>(code: string | ((arg: A) => T | Promise<T>), arg?: A, options?: Frame & Timeout): Promise<T>;",
    ],
    positions: [["code", "arg"]],
    object: "arg",
  }),
  set_input_files: acts({
    args: args({ selector, files: z.array(InputFile).max(100), frame }),
    result: nothing,
    summary: "Give files to an input",
    example: {
      selector: "#upload",
      files: [{ name: "a.txt", mime: "text/plain", content_base64: "aGVsbG8=" }],
    },
    script: [
      "set_input_files(selector: Selector, files: InputFile | InputFile[], options?: Frame & Timeout): Promise<null>;",
    ],
    positions: [["selector", "files"]],
    object: "files",
  }),
} as const;
