import { DeadlineError, withDeadline } from "#shared/kit/clock.ts";
import {
  SESSION_ACTIONS,
  type SessionActionArgs,
  type SessionActionName,
} from "#shared/protocol/schema/session.ts";
import type { ActionContext } from "./context.ts";
import { evaluate } from "./evaluate.ts";
import { ActionFailure, failureOf, late } from "./failure.ts";
import * as files from "./files.ts";
import { frameOf } from "./frames.ts";
import * as input from "./input.ts";
import { stopLateLoads } from "./loads.ts";
import * as nav from "./navigate.ts";
import * as pointer from "./pointer.ts";
import * as read from "./read.ts";
import { changeTab, listTabs } from "./tabs.ts";

type Actions = {
  [A in Exclude<SessionActionName, "recipe" | "ask" | "agent" | "dialogs" | "dialog">]: (
    ctx: ActionContext,
    args: SessionActionArgs<A>,
  ) => Promise<unknown>;
};

/**
 * Every action by its name (rules/session-actions#the-actions). `recipe`, `ask`, `agent` and the dialogs have their
 * own modules.
 */
const ACTIONS: Actions = {
  navigate: nav.navigate,
  back: nav.back,
  forward: nav.forward,
  reload: nav.reload,
  wait: nav.wait,
  click: pointer.click,
  fill: input.fill,
  type: input.type,
  press: input.press,
  hover: pointer.hover,
  drag_and_drop: pointer.dragAndDrop,
  mouse: pointer.mouse,
  select_option: input.selectOption,
  check: (ctx, a) => input.setChecked(ctx, a, true),
  uncheck: (ctx, a) => input.setChecked(ctx, a, false),
  scroll: input.scroll,
  set_input_files: input.setInputFiles,
  evaluate: async (ctx, a) => evaluate(await frameOf(ctx, a.frame), a.code, a.arg),
  screenshot: read.screenshot,
  pdf: read.pdf,
  content: read.content,
  text: read.text,
  markdown: read.markdown,
  links: read.links,
  tabs: listTabs,
  tab: changeTab,
  downloads: files.listDownloads,
  read_download: files.readDownload,
  // The hub keeps its idle time.
  keepalive: async () => null,
};

/** Playwright's own timeout says what it waited for; ours is for actions that have none. */
const GRACE_MS = 300;

export type ActionName = keyof Actions;
export const isAction = (name: string): name is keyof Actions => name in ACTIONS;

/**
 * Runs one action on the active tab (rules/session-actions#calls-and-answers).
 * @throws ActionFailure, always: page, timeout, invalid or broken.
 */
export async function runAction(
  ctx: Omit<ActionContext, "signal">,
  name: keyof Actions,
  raw: Record<string, unknown>,
): Promise<unknown> {
  const parsed = SESSION_ACTIONS[name].safeParse(raw);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const message = `${issue?.path.join(".") ?? ""}: ${issue?.message ?? "is not valid"}`;
    throw new ActionFailure("invalid", { name: "Error", message });
  }
  const over = new AbortController();
  const since = performance.now();
  try {
    // The arguments were parsed with the schema of this very name.
    const action = ACTIONS[name] as (ctx: ActionContext, args: unknown) => Promise<unknown>;
    const work = action({ ...ctx, signal: over.signal }, parsed.data);
    const late = withDeadline(name, ctx.timeout_ms + GRACE_MS, work);
    return await (ctx.interrupted === null ? late : Promise.race([late, ctx.interrupted]));
  } catch (err) {
    const failure = err instanceof DeadlineError ? late(name, ctx.timeout_ms) : failureOf(err);
    if (failure.kind !== "timeout") throw failure;
    const why = await stopLateLoads(ctx.pendingLoads(), name, since);
    throw why === null ? failure : late(name, ctx.timeout_ms, why);
  } finally {
    over.abort();
  }
}
