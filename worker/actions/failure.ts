import { DeadlineError } from "#shared/clock.ts";
import { AppError, errorMessage } from "#shared/errors.ts";
import { BROWSER_STARTING, type SessionReply } from "#shared/link/messages.ts";
import type { ActionError } from "#shared/schema/session.ts";

export type FailureKind = NonNullable<SessionReply["kind"]>;

/** An action that failed, as its caller is told (design/api.md: 422, 504, 404, 502). */
export class ActionFailure extends Error {
  readonly kind: FailureKind;
  readonly error: ActionError;
  constructor(kind: FailureKind, error: ActionError) {
    super(error.message);
    this.name = "ActionFailure";
    this.kind = kind;
    this.error = error;
  }
}

/** What would work in a moment (503). `why` is a clause. */
export const browserStarting = (why: string): ActionFailure =>
  new ActionFailure("broken", { name: BROWSER_STARTING, message: `${why}: try again in a moment` });

/** What the page refused, in a sentence. */
export const refused = (message: string, name = "Error"): ActionFailure =>
  new ActionFailure("page", { name, message });

const MAX_MESSAGE = 4_000;
const MAX_STACK = 8_000;
// biome-ignore lint/suspicious/noControlCharactersInRegex: Playwright colours its call log for terminals
const COLOURS = /\u001b\[[0-9;]*m/g;

/** Playwright names its own method first; the caller knows which action it asked for. */
const clean = (text: string): string =>
  text
    .replace(COLOURS, "")
    .replace(/^(?:[a-zA-Z]+\.)?[a-z][a-zA-Z]*: /, "")
    .slice(0, MAX_MESSAGE);

/** Sorts whatever an action threw. Messages are Playwright's, without colours. */
export function failureOf(err: unknown): ActionFailure {
  if (err instanceof ActionFailure) return err;
  if (err instanceof AppError) {
    const kind = err.kind === "invalid" || err.kind === "too_large" ? "invalid" : "broken";
    return new ActionFailure(kind, { name: "Error", message: err.message });
  }
  const name = err instanceof Error ? err.name : "Error";
  const raw = clean(errorMessage(err));
  if (err instanceof DeadlineError || name === "TimeoutError")
    return new ActionFailure("timeout", { name: "TimeoutError", message: raw });
  if (/Target page, context or browser has been closed|Target closed|Page closed/.test(raw))
    return new ActionFailure("page", { name: "TargetClosedError", message: "the tab was closed" });
  if (/Target crashed|Page crashed/i.test(raw))
    return new ActionFailure("page", { name: "PageCrashed", message: "the page crashed" });
  return new ActionFailure("page", thrownIn(err, raw));
}

/** `ReferenceError: x is not defined\n    at eval…` as name, message and the page's own stack. */
function thrownIn(err: unknown, raw: string): ActionError {
  const [first = "", ...rest] = raw.split("\n");
  const named = /^([A-Z]\w*(?:Error|Exception)): (.*)$/.exec(first);
  const in_page = rest.some((line) => /^\s+at /.test(line));
  const stack = in_page ? rest.join("\n") : "";
  return {
    name: named?.[1] ?? (err instanceof Error ? err.name : "Error"),
    message: named ? [named[2], ...(in_page ? [] : rest)].join("\n") : in_page ? first : raw,
    ...(stack === "" ? {} : { stack: stack.slice(0, MAX_STACK) }),
  };
}
