import type { Page } from "playwright-core";
import type { Clock } from "#shared/kit/clock.ts";
import type { SessionActionArgs } from "#shared/protocol/actions/session-actions.ts";
import { MAX_URL_LENGTH } from "#shared/protocol/limits.ts";
import type { SessionCookie } from "#shared/protocol/schema/cookie.ts";
import type { OneShotCall } from "#shared/protocol/schema/one-shot.ts";
import type { ActionContext, PageActions } from "../actions/context.ts";
import { ActionFailure } from "../actions/failure.ts";
import { runAction } from "../actions/run-action.ts";

/** One call at work: its page, and the time that it has left. */
export interface Shot {
  readonly call: OneShotCall;
  readonly page: Page;
  readonly clock: Clock;
  /** Milliseconds until its deadline, at least 1; `most_s` narrows it. */
  left(most_s?: number): number;
  /** An action of the table on its page, within the time that is left. */
  act<A extends keyof PageActions>(
    action: A,
    args: Omit<SessionActionArgs<A>, "timeout_s">,
    timeout_ms?: number,
  ): ReturnType<PageActions[A]>;
  setCookies(cookies: SessionCookie[]): Promise<unknown>;
}

export interface ShotDeps {
  /** As of any action of the session. */
  acting: Omit<ActionContext, "signal">;
  setCookies: Shot["setCookies"];
}

export function startShot(call: OneShotCall, { acting, setCookies }: ShotDeps): Shot {
  const { clock, timeout_ms: most_ms } = acting;
  const until = clock.monotonic() + most_ms;
  const left = (most_s = Number.POSITIVE_INFINITY) =>
    Math.max(1, Math.min(until - clock.monotonic(), most_s * 1_000));
  return {
    call,
    page: acting.pages.active(),
    clock,
    left,
    // The arguments are checked again there, with the schema of this very name.
    act: (action, args, timeout_ms = left()) =>
      runAction({ ...acting, timeout_ms }, action, args) as never,
    setCookies,
  };
}

/** What waits for something may use half of the time, where the rest is for the page as it is. */
const SHARE = 0.5;

/** How long a step may take; `asked_s` is what the call says about it. */
export const stepMs = ({ call, left }: Shot, asked_s: number | undefined): number =>
  asked_s === undefined && call.best_attempt ? left() * SHARE : left(asked_s);

/** With `best_attempt` a step that ran out of time is over, and the page is taken as it is. */
export async function attempt<T>({ call }: Shot, step: Promise<T>): Promise<T | null> {
  try {
    return await step;
  } catch (err) {
    if (call.best_attempt && isLate(err)) return null;
    throw err;
  }
}

const isLate = (err: unknown): boolean =>
  err instanceof ActionFailure ? err.kind === "timeout" : (err as Error).name === "TimeoutError";

/** Where the page is now; pages may write any length into both. */
export const placeOf = async ({ page }: Shot): Promise<{ url: string; title: string }> => ({
  url: page.url().slice(0, MAX_URL_LENGTH),
  title: (await page.title().catch(() => "")).slice(0, 4_096),
});
