import { DeadlineError, withDeadline } from "#shared/kit/clock.ts";
import { scriptOf } from "../actions/evaluate.ts";
import { late } from "../actions/failure.ts";
import type { Shot } from "./shot.ts";

const POLL_MS = 50;
/** The page went elsewhere while it was asked: the next one is. */
const MOVED = /Execution context was destroyed|Cannot find context|because of a navigation/;

/**
 * Asks until the value of `code` is true. Playwright's own wait takes the promise of an asynchronous function for true.
 * @throws ActionFailure timeout, or what the page throws
 */
export async function waitForFunction(
  { page, clock }: Pick<Shot, "page" | "clock">,
  code: string,
  ms: number,
): Promise<void> {
  const asked = `(async () => Boolean(await (${scriptOf(code)})()))()`;
  const until = clock.monotonic() + ms;
  for (;;) {
    const left = until - clock.monotonic();
    if (left <= 0) throw late("wait_for_function", ms);
    const value = page.evaluate<boolean>(asked).catch((err: Error) => {
      if (MOVED.test(err.message)) return false;
      throw err;
    });
    const is_true = await withDeadline("wait_for_function", left, value, clock).catch((err) => {
      throw err instanceof DeadlineError ? late("wait_for_function", ms) : err;
    });
    if (is_true) return;
    await clock.sleep(Math.min(POLL_MS, left));
  }
}
