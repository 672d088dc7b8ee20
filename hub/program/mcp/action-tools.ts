import { z } from "@hono/zod-openapi";
import { ACTION_TIMEOUTS_S } from "#shared/client/action-timeouts.ts";
import {
  SESSION_ACTIONS,
  type SessionActionName,
} from "#shared/protocol/actions/session-actions.ts";
import type { ActionReply } from "#shared/protocol/schema/session.ts";
import { readJson } from "./read-bounded.ts";
import { failed } from "./refusal.ts";
import { ofPage, pageText, picture, said } from "./results.ts";
import { type Content, PIECE, session_id, type Tool, type ToolCall } from "./tool.ts";

/**
 * Actions of a session as tools: made of the one table of actions, with its schemas and summaries
 * (rules/session-actions#the-actions).
 */

/** Left out are those in which an engine or a recipe would do a model's own work, and those that answer a file. */
const OFFERED: Partial<Record<SessionActionName, string>> = {
  aria_snapshot:
    "The way to see a page: each element with its role, name and [ref=e5]. Give ref=e5 as the selector of an action; references hold until the page navigates.",
  screenshot: "Shows what the page looks like; to act on it, take a session_snapshot.",
  text: "Cheaper than a snapshot where only words matter.",
  markdown: "Keeps headings, links and tables.",
  links: "Their addresses and texts.",
  content: "session_markdown and session_snapshot are shorter.",
  navigate: "",
  back: "",
  forward: "",
  reload: "",
  click: "With wait_for popup the new window becomes the active tab.",
  fill: "Replaces what the field holds; the usual way to fill in a form.",
  type: "For pages that listen to keys; otherwise session_fill is faster.",
  press: "Enter, Tab, Escape, Control+A and the like.",
  hover: "",
  drag_and_drop: "",
  mouse: "For what has no elements, such as a canvas; the point is one of the screenshot.",
  select_option: "By the labels or the values of the options.",
  check: "",
  uncheck: "",
  scroll: "",
  wait: "Prefer to wait for what the page is to show over a length of time.",
  evaluate: "The result must be JSON.",
  set_input_files: "For uploads; the content is base64.",
  tabs: "",
  tab: "Actions go to the selected tab.",
  dialogs: "An open dialog blocks its page until session_dialog answers it.",
  dialog: "",
  downloads: "",
  keepalive: "A session ends when nobody uses it for its idle time.",
};
/** Where the table of actions, which says what may begin a load, does not say it. */
const EFFECTS: Partial<Record<SessionActionName, Tool["effect"]>> = {
  dialogs: "reads",
  scroll: "changes",
  keepalive: "changes",
};
const OWN_NAMES: Partial<Record<SessionActionName, string>> = { aria_snapshot: "snapshot" };

const toolNameOf = (action: SessionActionName): string => `session_${OWN_NAMES[action] ?? action}`;

/** The answer of the hub comes this much later than the action's own deadline. */
const GRACE_MS = 15_000;
/** Of the page after an action, where it is asked for. */
const SNAPSHOT_CHARS = 20_000;

type Given = Record<string, unknown> & {
  session_id: string;
  snapshot?: boolean;
  offset?: number;
  max_chars?: number;
};

const SNAPSHOT = z
  .boolean()
  .default(false)
  .describe("Also answer a session_snapshot of the page afterwards");

/** The action's own arguments, which the hub judges again, and those of the tool. */
function argsOf(action: SessionActionName): z.ZodType {
  const { args, begins_load } = SESSION_ACTIONS[action];
  const more = {
    session_id,
    ...(isLong(action) && PIECE),
    ...(begins_load && { snapshot: SNAPSHOT }),
  } as z.ZodRawShape;
  return (args as z.ZodObject).safeExtend(more);
}

/** Whether its result is a text of any length, of which a piece is answered. */
const isLong = (action: SessionActionName): boolean =>
  ["text", "markdown", "content", "links", "evaluate", "downloads"].includes(action);

async function act(
  { http, clock, signal }: Pick<ToolCall, "http" | "clock" | "signal">,
  action: SessionActionName,
  sid: string,
  args: Record<string, unknown>,
): Promise<ActionReply> {
  const seconds = Number(args.timeout_s ?? ACTION_TIMEOUTS_S[action]);
  return (await readJson({ http, clock }, `POST /sessions/{sid}/${action}`, {
    params: { sid },
    json: args as never,
    timeout_ms: seconds * 1_000 + GRACE_MS,
    signal,
  })) as ActionReply;
}

/** What came of it: where the page is now, then the result. */
function answerOf(action: SessionActionName, reply: ActionReply, piece: Given): Content[] {
  const { result, url, title } = reply;
  const shown = result as { mime?: unknown; content_base64?: unknown } | null;
  const where = `url: ${url.slice(0, 2_000)}\ntitle: ${JSON.stringify(title.slice(0, 500))}`;
  if (action === "screenshot" && typeof shown?.content_base64 === "string")
    return [picture({ mime: String(shown.mime), base64: shown.content_base64 }), ofPage(where)];
  if (action === "aria_snapshot") return snapshotOf(result, where);
  const text = typeof result === "string" ? result : JSON.stringify(result, null, 1);
  if (result === null || result === undefined) return [said("done"), ofPage(where)];
  const { offset = 0, max_chars = 20_000 } = piece;
  return [ofPage(where), ...pageText(text, { offset, max_chars }, readOn(action))];
}

/** How the rest of a long result is read; null where it cannot be. */
function readOn(action: SessionActionName): string | null {
  if (action === "evaluate") return "to read on, run the code again with";
  return isLong(action) ? "call again with" : null;
}

function snapshotOf(result: unknown, where: string): Content[] {
  const { snapshot, lines, next_line } = result as {
    snapshot: string;
    lines: number;
    next_line: number | null;
  };
  const cut =
    next_line === null
      ? []
      : [
          said(
            `[cut: ${lines} lines in all; session_snapshot with from_line ${next_line} reads on]`,
          ),
        ];
  return [ofPage(`${where}\n${snapshot}`), ...cut];
}

/** The page after an action. That there is none does not undo the action: a model that heard of a failure would repeat it. */
async function snapshotAfter(call: ToolCall, args: Given): Promise<Content[]> {
  const look = { max_chars: SNAPSHOT_CHARS };
  try {
    const seen = await act(call, "aria_snapshot", args.session_id, look);
    return answerOf("aria_snapshot", seen, args);
  } catch (err) {
    if (call.signal.aborted) throw err;
    return [said("The action is done, but there is no snapshot of the page:"), ...failed(err)];
  }
}

/** A reference is often given without its `ref=`; no page has elements of such names. */
const BARE_REF = /^(?:f\d+)?e\d+$/;
const asSelector = (value: unknown): unknown =>
  typeof value === "string" && BARE_REF.test(value) ? `ref=${value}` : value;

const SELECTORS = ["selector", "source", "target"];

/** What the action itself is given: without the tool's own arguments, and without defaults, which are the hub's. */
function sentOf(action: SessionActionName, given: Record<string, unknown>) {
  const own = ["session_id", "snapshot", ...(isLong(action) ? Object.keys(PIECE) : [])];
  const kept = Object.entries(given).filter(([name]) => !own.includes(name));
  return Object.fromEntries(
    kept.map(([name, value]) => [name, SELECTORS.includes(name) ? asSelector(value) : value]),
  );
}

const actionTool = (action: SessionActionName, hint: string): Tool => {
  const { summary, begins_load } = SESSION_ACTIONS[action];
  return {
    name: toolNameOf(action),
    title: summary,
    about: hint === "" ? `${summary}.` : `${summary}. ${hint}`,
    part: "fleet",
    args: argsOf(action),
    calls: [`POST /sessions/{sid}/${action}`],
    access: "operate",
    effect: EFFECTS[action] ?? (begins_load ? "acts" : "reads"),
    run: async (call, raw) => {
      const args = raw as Given;
      const reply = await act(call, action, args.session_id, sentOf(action, call.given));
      const answer = answerOf(action, reply, args);
      if (args.snapshot !== true) return answer;
      return [...answer, ...(await snapshotAfter(call, args))];
    },
  };
};

export const ACTION_TOOLS: readonly Tool[] = (
  Object.entries(OFFERED) as [SessionActionName, string][]
).map(([action, hint]) => actionTool(action, hint));
