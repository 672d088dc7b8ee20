import type { Page } from "playwright-core";
import type {
  SessionActionArgs,
  SessionActionResult,
} from "#shared/protocol/actions/session-actions.ts";
import type { Tab } from "#shared/protocol/schema/session.ts";
import type { ActionContext, PageActions } from "./context.ts";
import { nextDownload } from "./downloads.ts";
import { frameOf, target } from "./frames.ts";
import { asPlaywright } from "./selectors.ts";
import { listTabs } from "./tabs.ts";

type Click = SessionActionArgs<"click">;

/** The expected result of the click: the popup's tab or the download; otherwise null. */
async function click(ctx: ActionContext, a: Click): Promise<SessionActionResult<"click">> {
  if (a.wait_for === "popup") return clickForPopup(ctx, a);
  if (a.wait_for === "download") {
    const seen = ctx.downloads.list();
    const until = ctx.clock.monotonic() + ctx.timeout_ms;
    await clickOnce(ctx, a);
    return nextDownload(ctx, seen, until);
  }
  await clickOnce(ctx, a);
  return null;
}

async function clickOnce(ctx: ActionContext, a: Click): Promise<void> {
  const { selector, position, button, frame, click_count: clickCount } = a;
  const how = { button, clickCount };
  if (selector === undefined) return ctx.pages.active().mouse.click(a.x ?? 0, a.y ?? 0, how);
  const timeout = ctx.timeout_ms;
  await target(ctx, { selector, frame }).click({ ...how, timeout, ...(position && { position }) });
}

/** The window that the click opens becomes the active tab, once its document is there. */
async function clickForPopup(ctx: ActionContext, a: Click): Promise<Tab | null> {
  const timeout = ctx.timeout_ms;
  const opening = ctx.pages.context.waitForEvent("page", { timeout });
  // Without a listener it would be unhandled when the click fails first.
  opening.catch(() => {});
  await clickOnce(ctx, a);
  const popup: Page = await opening;
  await popup.waitForLoadState("domcontentloaded", { timeout });
  ctx.pages.select(popup);
  return (await listTabs(ctx)).find(({ active }) => active) ?? null;
}

async function hover(ctx: ActionContext, a: SessionActionArgs<"hover">): Promise<null> {
  const { position } = a;
  await target(ctx, a).hover({ timeout: ctx.timeout_ms, ...(position && { position }) });
  return null;
}

async function dragAndDrop(
  ctx: ActionContext,
  a: SessionActionArgs<"drag_and_drop">,
): Promise<null> {
  const frame = await frameOf(ctx, a.frame);
  await frame.dragAndDrop(asPlaywright(a.source), asPlaywright(a.target), {
    timeout: ctx.timeout_ms,
    ...(a.source_position && { sourcePosition: a.source_position }),
    ...(a.target_position && { targetPosition: a.target_position }),
  });
  return null;
}

/** `down` and `up` go to where the pointer is, unless they name a point. */
async function mouse(ctx: ActionContext, a: SessionActionArgs<"mouse">): Promise<null> {
  const { op, x, y, steps, button } = a;
  const { mouse: pointer } = ctx.pages.active();
  if (x !== undefined && y !== undefined) await pointer.move(x, y, { steps });
  if (op === "down") await pointer.down({ button });
  if (op === "up") await pointer.up({ button });
  return null;
}

export const POINTER = {
  click,
  hover,
  drag_and_drop: dragAndDrop,
  mouse,
} satisfies Partial<PageActions>;
