import { DeadlineError, withDeadline } from "#shared/kit/clock.ts";
import { SESSION_ACTIONS } from "#shared/protocol/actions/session-actions.ts";
import type { ActionContext, PageActions } from "./context.ts";
import { DOWNLOADS } from "./downloads.ts";
import { evaluate } from "./evaluate.ts";
import { ActionFailure, failureOf, late } from "./failure.ts";
import { frameOf } from "./frames.ts";
import { INPUT } from "./input.ts";
import { stopLateLoads } from "./loads.ts";
import { NAVIGATION } from "./navigate.ts";
import { POINTER } from "./pointer.ts";
import { READING } from "./read-page.ts";
import { demandCurrent, REFERENCES } from "./references.ts";
import { TABS } from "./tabs.ts";

/** Every action on the active tab by its name (rules/session-actions#the-actions). */
const ACTIONS: PageActions = {
  ...NAVIGATION,
  ...POINTER,
  ...INPUT,
  ...READING,
  ...REFERENCES,
  ...TABS,
  ...DOWNLOADS,
  evaluate: async (ctx, a) => evaluate(await frameOf(ctx, a.frame), a.code, a.arg),
  // The hub keeps its idle time.
  keepalive: async () => null,
};

/** Playwright's own timeout says what it waited for; ours is for actions that have none. */
const GRACE_MS = 300;

export const isAction = (name: string): name is keyof PageActions => Object.hasOwn(ACTIONS, name);

const MAX_SELECTOR = 200;

/** The action as its error names it: `click on "#login"`. */
const shown = (name: string, args: object): string =>
  "selector" in args && typeof args.selector === "string"
    ? `${name} on ${JSON.stringify(args.selector.slice(0, MAX_SELECTOR))}`
    : name;

/**
 * Runs one action on the active tab (rules/session-actions#calls-and-answers).
 * @throws ActionFailure, always: page, timeout, invalid or broken.
 */
export async function runAction(
  ctx: Omit<ActionContext, "signal">,
  name: keyof PageActions,
  raw: Record<string, unknown>,
): Promise<unknown> {
  const parsed = SESSION_ACTIONS[name].args.safeParse(raw);
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
    const work = demandCurrent(ctx, parsed.data).then(() =>
      action({ ...ctx, signal: over.signal }, parsed.data),
    );
    const late = withDeadline(name, ctx.timeout_ms + GRACE_MS, work, ctx.clock);
    return await (ctx.interrupted === null ? late : Promise.race([late, ctx.interrupted]));
  } catch (err) {
    const what = shown(name, parsed.data);
    const failure = err instanceof DeadlineError ? late(what, ctx.timeout_ms) : failureOf(err);
    if (failure.kind !== "timeout") throw failure;
    const why = await stopLateLoads(ctx.pendingLoads(), name, since);
    throw why === null ? failure : late(what, ctx.timeout_ms, why);
  } finally {
    over.abort();
  }
}
