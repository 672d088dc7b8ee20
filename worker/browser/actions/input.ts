import type { Locator } from "playwright-core";
import type { SessionActionArgs } from "#shared/protocol/actions/session-actions.ts";
import type { ActionContext, PageActions } from "./context.ts";
import { frameOf, target } from "./frames.ts";
import { inPage } from "./in-page.ts";
import { hidingTyped, pressHiding } from "./typed-secrets.ts";

/** Actions that a person could perform; each waits for its element as Playwright does. */

async function fill(ctx: ActionContext, a: SessionActionArgs<"fill">): Promise<null> {
  const { text } = a;
  const field = target(ctx, a);
  await hidingTyped({ ...into(ctx, field), text, by_key: false }, () =>
    field.fill(text, { timeout: ctx.timeout_ms }),
  );
  return null;
}

const into = ({ pages, clock, hide }: ActionContext, field: Locator | null) => ({
  page: pages.active(),
  clock,
  hide,
  field,
});

async function type(ctx: ActionContext, a: SessionActionArgs<"type">): Promise<null> {
  const { timeout_ms: timeout } = ctx;
  const { text, delay_ms: delay, selector } = a;
  const field = selector === undefined ? null : target(ctx, { ...a, selector });
  await hidingTyped({ ...into(ctx, field), text, by_key: true }, () =>
    field ? field.pressSequentially(text, { delay, timeout }) : typeKeys(ctx, text, delay),
  );
  return null;
}

async function typeKeys(ctx: ActionContext, text: string, delay: number): Promise<void> {
  // Key by key, so that typing stops as soon as nobody waits for it.
  const { keyboard } = ctx.pages.active();
  if (delay === 0) await keyboard.type(text);
  else
    for (const char of text) {
      if (ctx.signal.aborted) break;
      await keyboard.type(char);
      await ctx.clock.sleep(delay, ctx.signal);
    }
}

async function press(ctx: ActionContext, a: SessionActionArgs<"press">): Promise<null> {
  const { key, selector } = a;
  const field = selector === undefined ? null : target(ctx, { ...a, selector });
  await pressHiding({ ...into(ctx, field), key }, ctx.timeout_ms);
  return null;
}

/** The values that are selected now. */
const selectOption = (
  ctx: ActionContext,
  a: SessionActionArgs<"select_option">,
): Promise<string[]> => target(ctx, a).selectOption(a.values, { timeout: ctx.timeout_ms });

async function setChecked(
  ctx: ActionContext,
  a: SessionActionArgs<"check">,
  checked: boolean,
): Promise<null> {
  await target(ctx, a).setChecked(checked, { timeout: ctx.timeout_ms });
  return null;
}

async function setInputFiles(
  ctx: ActionContext,
  a: SessionActionArgs<"set_input_files">,
): Promise<null> {
  const paths = a.files.map(({ name, content_base64, upload_id }) =>
    ctx.takeInput(
      name,
      upload_id === undefined
        ? { bytes: Buffer.from(content_base64 ?? "", "base64") }
        : { upload_id },
    ),
  );
  await target(ctx, a).setInputFiles(paths, { timeout: ctx.timeout_ms });
  return null;
}

/** The page's own smooth scrolling would still be under way when the answer comes. */
const SCROLL = inPage<number, { x: number; y: number }>(
  `(y) => { scrollBy({ top: y, behavior: "instant" }); return { x: scrollX, y: scrollY }; }`,
);

/** Where the page (or frame) is scrolled to afterwards, in CSS pixels. */
async function scroll(
  ctx: ActionContext,
  a: SessionActionArgs<"scroll">,
): Promise<{ x: number; y: number }> {
  const { selector, amount = 0 } = a;
  if (selector !== undefined)
    await target(ctx, { ...a, selector }).scrollIntoViewIfNeeded({ timeout: ctx.timeout_ms });
  return (await frameOf(ctx, a.frame)).evaluate(SCROLL, amount);
}

export const INPUT = {
  fill,
  type,
  press,
  select_option: selectOption,
  check: (ctx, a) => setChecked(ctx, a, true),
  uncheck: (ctx, a) => setChecked(ctx, a, false),
  scroll,
  set_input_files: setInputFiles,
} satisfies Partial<PageActions>;
