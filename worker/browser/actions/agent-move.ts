import type { Page } from "playwright-core";
import { TargetUrl } from "#shared/protocol/schema/job.ts";
import type { AgentMove } from "#shared/protocol/schema/page-agent.ts";
import type { ActionContext } from "./context.ts";
import { refused } from "./failure.ts";
import { inPage } from "./in-page.ts";
import { runAction } from "./run-action.ts";
import { SECRET_FIELDS } from "./secret-fields.ts";

const SCROLL_PX = 600;
/** If these navigate at all, the navigation starts within this time. */
const MAY_NAVIGATE = new Set(["click", "press", "select"]);
const SETTLE_MS = 250;
const LOAD_MS = 5_000;

type Acting = Omit<ActionContext, "signal">;
export type PageMove = Exclude<AgentMove, { action: "done" | "give_up" }>;

/** Playwright's selector for an element by its ref in the last snapshot. */
export const locatorOf = (ref: string): string => `aria-ref=${ref}`;

/**
 * Makes an engine's move with the same actions that a client has. A ref must belong to the page that was shown.
 * @throws ActionFailure
 */
export async function makeMove(
  ctx: Acting & Pick<ActionContext, "signal">,
  move: PageMove,
  refs: ReadonlySet<string>,
): Promise<void> {
  const named = "ref" in move ? (move.ref ?? null) : null;
  if (named !== null && !refs.has(named)) throw refused(`the page has no ref ${named}`);
  const tabs = ctx.pages.all();
  await perform(ctx, move);
  if (!MAY_NAVIGATE.has(move.action)) return;
  await ctx.clock.sleep(SETTLE_MS, ctx.signal);
  const opened = ctx.pages.all().find((page) => !tabs.includes(page));
  if (opened) ctx.pages.select(opened);
  await loaded(ctx, ctx.pages.active());
}

async function perform(ctx: Acting, move: PageMove): Promise<unknown> {
  switch (move.action) {
    case "click":
      return runAction(ctx, "click", { selector: locatorOf(move.ref) });
    case "fill":
      return runAction(ctx, "fill", { selector: locatorOf(move.ref), text: move.text });
    case "select":
      return runAction(ctx, "select_option", {
        selector: locatorOf(move.ref),
        values: move.values,
      });
    case "press":
      return runAction(ctx, "press", {
        key: move.key,
        ...(move.ref ? { selector: locatorOf(move.ref) } : {}),
      });
    case "scroll":
      return runAction(
        ctx,
        "scroll",
        move.ref ? { selector: locatorOf(move.ref) } : { amount: move.amount ?? SCROLL_PX },
      );
    case "navigate":
      return runAction(ctx, "navigate", { url: webUrl(ctx.pages.active(), move.url) });
    case "back":
      return runAction(ctx, "back", {});
    case "wait":
      return runAction(ctx, "wait", { seconds: move.seconds });
  }
}

/** Resolves a URL, which may be relative to the page. @throws ActionFailure for anything but a web page */
function webUrl(page: Page, raw: string): string {
  const base = URL.canParse(page.url()) ? page.url() : undefined;
  const url = URL.canParse(raw, base) ? new URL(raw, base).href : raw;
  const parsed = TargetUrl.safeParse(url);
  if (!parsed.success) throw refused(`refused to open ${url.slice(0, 200)}: it is not a web page`);
  return parsed.data;
}

const loaded = (ctx: Acting, page: Page): Promise<unknown> =>
  page
    .waitForLoadState("load", { timeout: Math.max(1, Math.min(LOAD_MS, ctx.timeout_ms)) })
    // A page that goes on loading is shown as far as it has loaded.
    .catch(() => {});

const IS_SECRET = inPage<unknown, boolean>(
  `(field) => field.matches(${JSON.stringify(SECRET_FIELDS)})`,
);
const LOOK_MS = 1_000;

/** Whether a ref is a field whose text nobody may read. */
export const isSecretField = (page: Page, ref: string): Promise<boolean> =>
  page
    .locator(locatorOf(ref))
    .evaluate(IS_SECRET, undefined, { timeout: LOOK_MS })
    .catch(() => false);
