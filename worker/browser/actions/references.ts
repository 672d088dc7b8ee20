import type { Page } from "playwright-core";
import type {
  SessionActionArgs,
  SessionActionResult,
} from "#shared/protocol/actions/session-actions.ts";
import type { ActionContext, PageActions } from "./context.ts";
import { ActionFailure, refused } from "./failure.ts";
import { inPage } from "./in-page.ts";
import { refIn } from "./selectors.ts";
import { ariaPieceOf } from "./snapshot.ts";

/** The action `aria_snapshot`, and elements by the references that it gives (rules/session-actions#references). */

interface Shown {
  refs: ReadonlySet<string>;
  /** Which document it was. */
  document: number;
}

/** The last snapshot of each tab. Playwright answers to the refs of any snapshot, whoever took it of whatever document. */
const last = new WeakMap<Page, Shown>();

/** Another document began at another time. */
const DOCUMENT = inPage<undefined, number>("() => performance.timeOrigin");

async function ariaSnapshot(
  ctx: ActionContext,
  { max_chars, from_line }: SessionActionArgs<"aria_snapshot">,
): Promise<SessionActionResult<"aria_snapshot">> {
  const page = ctx.pages.active();
  const { timeout_ms } = ctx;
  const document = await page.evaluate(DOCUMENT, undefined);
  const { text, refs, lines, next_line } = await ariaPieceOf(page, {
    timeout_ms,
    max_chars,
    from_line,
  });
  last.set(page, { refs, document });
  return { snapshot: text, lines, next_line };
}

const REFERRING = ["selector", "source", "target"];

/**
 * Playwright would wait for an element that cannot come any more, or take one of another document that is called the
 * same. @throws ActionFailure page for a reference that is stale
 */
export async function demandCurrent(
  { pages }: Pick<ActionContext, "pages">,
  args: object,
): Promise<void> {
  for (const [field, selector] of Object.entries(args)) {
    if (typeof selector !== "string" || !REFERRING.includes(field)) continue;
    const ref = refIn(selector);
    if (ref === null) continue;
    if ("frame" in args && args.frame !== undefined)
      throw new ActionFailure("invalid", {
        name: "Error",
        message: "frame: a reference names its frame itself",
      });
    if (!(await isCurrent(pages.active(), ref)))
      throw refused(
        `there is no element ref=${ref} in the last snapshot of this page, or the page has changed since: take a new snapshot`,
        "StaleReference",
      );
  }
}

async function isCurrent(page: Page, ref: string): Promise<boolean> {
  const shown = last.get(page);
  if (!shown?.refs.has(ref)) return false;
  if ((await page.evaluate(DOCUMENT, undefined)) !== shown.document) return false;
  // A frame that is gone is an error of the selector.
  const found = await page
    .locator(`aria-ref=${ref}`)
    .count()
    .catch(() => 0);
  return found > 0;
}

export const REFERENCES = { aria_snapshot: ariaSnapshot } satisfies Partial<PageActions>;
