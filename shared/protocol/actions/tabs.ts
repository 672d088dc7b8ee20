import { z } from "@hono/zod-openapi";
import { args, load_state, none, StartUrl, text } from "./arguments.ts";
import { acts, looks } from "./entry.ts";
import { dialog, dialogs, downloaded, downloads, gone, tabs } from "./results.ts";

/** Actions on the browser around the page: its history, tabs, dialogs and downloads. */
export const TAB_ACTIONS = {
  back: acts({
    args: none,
    result: gone,
    summary: "Go back",
    example: {},
    script: ["back(options?: Timeout): Promise<{ status: number | null }>;"],
  }),
  forward: acts({
    args: none,
    result: gone,
    summary: "Go forward",
    example: {},
    script: ["forward(options?: Timeout): Promise<{ status: number | null }>;"],
  }),
  reload: acts({
    args: args({ wait_until: load_state.default("load") }),
    result: gone,
    summary: "Reload",
    example: {},
    script: [
      `reload(options?: { wait_until?: LoadState | "commit" } & Timeout): Promise<{ status: number | null }>;`,
    ],
  }),
  tabs: looks({
    args: none,
    result: tabs,
    summary: "List the tabs",
    example: {},
    script: ["tabs(): Promise<Tab[]>;"],
  }),
  tab: acts({
    args: args({
      op: z.enum(["new", "close", "select"]),
      index: z.int().min(0).max(1_000).optional(),
      url: StartUrl.optional(),
    }),
    result: tabs,
    summary: "Open, close or select a tab",
    example: { op: "select", index: 0 },
    script: [
      "/** Opens, closes or selects a tab; actions go to the selected one. */",
      `tab(op: "new", url?: string): Promise<Tab[]>;`,
      `tab(op: "close" | "select", index?: number): Promise<Tab[]>;`,
    ],
    positions: [
      ["op", "url"],
      ["op", "index"],
    ],
  }),
  dialogs: acts({
    args: none,
    result: dialogs,
    summary: "List the dialogs that pages have opened",
    example: {},
    script: [
      `/** What pages ask (alert, confirm, prompt) and nobody has answered; they only wait with the job's option dialog_policy "wait". */`,
      "dialogs(): Promise<Dialog[]>;",
    ],
  }),
  dialog: acts({
    args: args({
      op: z.enum(["accept", "dismiss"]),
      /** Text for a prompt; its default text if left out. */
      prompt_text: text.optional(),
      /** Id from `dialogs`; by default the active tab's, else the oldest. */
      dialog_id: z.string().max(64).optional(),
    }).refine((a) => a.op === "accept" || a.prompt_text === undefined, {
      path: ["prompt_text"],
      error: "needs accept",
    }),
    result: dialog,
    summary: "Accept or dismiss a dialog",
    example: { op: "accept", prompt_text: "Ada" },
    script: [
      "/** Answers the active tab's dialog, with text for a prompt. A click that opens one resolves to { dialog } while it waits. */",
      `dialog(op: "accept", prompt_text?: string, options?: { dialog_id?: string } & Timeout): Promise<Dialog>;`,
      `dialog(op: "dismiss", options?: { dialog_id?: string } & Timeout): Promise<Dialog>;`,
    ],
    positions: [["op", "prompt_text"]],
  }),
  downloads: looks({
    args: none,
    result: downloads,
    summary: "List what the browser downloaded",
    example: {},
    script: ["downloads(): Promise<Download[]>;"],
  }),
  read_download: looks({
    args: args({
      /** Id from `downloads`; by default the newest. */
      name: z.string().min(1).max(255).optional(),
    }),
    result: downloaded,
    summary: "Read a downloaded file, once it is complete",
    example: { name: "report.csv" },
    script: [
      "/** The newest download, or the one of that name; waits until it is complete. */",
      "read_download(name?: string, options?: Timeout): Promise<{ name: string; mime: string; size: number; bytes: Uint8Array }>;",
    ],
    positions: [["name"]],
  }),
} as const;
