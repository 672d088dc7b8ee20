import { DeadlineError } from "#shared/kit/clock.ts";
import { AppError, errorMessage } from "#shared/kit/errors.ts";
import { BROWSER_STARTING, type SessionReply } from "#shared/protocol/link/messages.ts";
import type { ActionError } from "#shared/protocol/schema/session.ts";

export type FailureKind = NonNullable<SessionReply["kind"]>;

/** An action that failed, as reported to its caller (422, 504, 404, 502: rules/session-actions#failed-actions). */
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

/** For an action that would work in a moment (503). `why` is a clause. */
export const browserStarting = (why: string): ActionFailure =>
  new ActionFailure("broken", { name: BROWSER_STARTING, message: `${why}: try again in a moment` });

/** For something that was refused; the message is a sentence. */
export const refused = (message: string, name = "Error"): ActionFailure =>
  new ActionFailure("page", { name, message });

/** For something that took longer than its caller waits; the message is a sentence. */
export const timedOut = (message: string): ActionFailure =>
  new ActionFailure("timeout", { name: "TimeoutError", message });

/** An action that ran out of time, with a clause that says what it waited for, if that is known. */
export const late = (action: string, ms: number, why: string | null = null): ActionFailure =>
  timedOut(`${action} did not end within ${ms} ms${why === null ? "" : `: ${why}`}`);

const MAX_MESSAGE = 4_000;
const MAX_STACK = 8_000;
// biome-ignore lint/suspicious/noControlCharactersInRegex: Playwright colours its call log for terminals
const COLOURS = /\u001b\[[0-9;]*m/g;
const CALL_LOG = /\n(?:Call log|=+ logs =+):?\n([\s\S]*)$/;
/** Playwright names its own method first; the caller knows which action it asked for. */
const METHOD = /^(?:async )?(?:[a-zA-Z]+\.)?[a-z][a-zA-Z]*: /;

/** What kept an element from being acted on, as the lines of a call log put it. Later lines are more recent. */
const OBSTACLE =
  /intercepts pointer events|element is (?:not|outside)|resolved to hidden|did not find some options/;
const WAITED = /^(?:waiting for|navigating to|taking) /;

/** The most informative line of a call log, without its bullet: what is in the way, otherwise what was awaited. */
function tellingLine(log: string): string | null {
  const lines = log.split("\n").map((line) => line.replace(/^[\s-]*(?:\d+ × )?/, "").trim());
  return lines.findLast((line) => OBSTACLE.test(line)) ?? lines.find((l) => WAITED.test(l)) ?? null;
}

/**
 * Splits a Playwright error into one sentence, and the log of what it tried, which is meant for Playwright's
 * developers.
 */
export function splitCallLog(raw: string): { text: string; log: string } {
  const plain = raw.replace(COLOURS, "");
  const log = CALL_LOG.exec(plain)?.[1] ?? "";
  const text = plain.replace(CALL_LOG, "").replace(METHOD, "").trim();
  return { text, log };
}

/** Classifies whatever an action threw. Messages are Playwright's, in one sentence. */
export function failureOf(err: unknown): ActionFailure {
  if (err instanceof ActionFailure) return err;
  if (err instanceof AppError) {
    const kind = err.kind === "invalid" || err.kind === "too_large" ? "invalid" : "broken";
    return new ActionFailure(kind, { name: "Error", message: err.message });
  }
  const name = err instanceof Error ? err.name : "Error";
  const { text, log } = splitCallLog(errorMessage(err));
  const raw = text.slice(0, MAX_MESSAGE);
  if (err instanceof DeadlineError || name === "TimeoutError") {
    // It is preceded by one of Playwright's names, such as `Scroll into view`.
    const said = raw.replace(/^.*(?=Timeout \d+ms exceeded)/, "");
    const why = tellingLine(log)?.slice(0, MAX_MESSAGE);
    return timedOut(why === undefined ? said : `${said.replace(/\.$/, "")}: ${why}`);
  }
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
