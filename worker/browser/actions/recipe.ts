import type { Page } from "playwright-core";
import { type Clock, DeadlineError, withDeadline } from "#shared/kit/clock.ts";
import type { SecretHosts } from "#shared/protocol/recipe-secrets.ts";
import type { RecipeAction } from "#shared/protocol/schema/recipe.ts";
import type { Box } from "#shared/recording/events.ts";
import { evaluate } from "./evaluate.ts";
import { type ActionFailure, failureOf, refused } from "./failure.ts";
import { createScrubber, shownKey } from "./scrub.ts";
import { fillSecret, typeSecret } from "./secret-input.ts";
import { type FrameArg, locatorIn } from "./selectors.ts";
import { type Hide, pressHiding } from "./typed-secrets.ts";

/** A failed step, described in a sentence for the person who wrote the recipe. Never contains the value of a secret. */
export class RecipeError extends Error {
  override readonly name = "RecipeError";
  readonly timed_out: boolean;
  /** Where the element of the failed step was. */
  readonly box: Box | null;
  constructor(message: string, timed_out: boolean, box: Box | null) {
    super(message);
    this.timed_out = timed_out;
    this.box = box;
  }
}

/** The element that a step is about: the first of those that it names. */
export interface StepElement {
  selector: string;
  frame?: FrameArg;
}

export interface RecipeRun {
  page: Page;
  /** `recipe` or `login recipe`, as errors call it. */
  name: string;
  actions: readonly RecipeAction[];
  /** Bounds all steps together; the waits after clicks come on top. */
  timeout_s: number;
  /** Values of the `${ENV:NAME}` placeholders. */
  secrets: Readonly<Record<string, string>>;
  /** The hosts on which each of them may be entered. */
  secret_hosts: SecretHosts;
  clock: Clock;
  /** Hides what is typed into fields whose text nobody may read. */
  hide: Hide;
  /** Why this URL may not be opened, or null; for pages that nothing else guards. */
  refusal?(url: string): Promise<string | null>;
  /** Looks where the element of a step is while the step runs, for recordings. */
  lookFor?: ((element: StepElement) => () => Promise<Box | null>) | undefined;
  /** Called for each step that is done: `2/5 click #more: 134 ms`. */
  onStep(line: string, ms: number, box: Box | null): void;
  /** The wait after a click (rules/job-options#the-options). */
  afterClick(): Promise<void>;
}

/**
 * Runs the steps of a recipe one after the other (rules/recipes#failed-steps). Text that is filled or typed appears
 * neither in the log nor in errors.
 * @throws RecipeError naming the step, its kind and its selector.
 */
export async function runRecipe(run: RecipeRun): Promise<void> {
  const { actions, clock } = run;
  const scrub = createScrubber(run.secrets, []);
  const scrubAll = createScrubber(run.secrets, actions);
  let left_ms = run.timeout_s * 1_000;
  for (const [i, action] of actions.entries()) {
    const step = `${i + 1}/${actions.length} ${describeAction(action)}`;
    const since = clock.monotonic();
    const element = elementOf(action);
    const touched = element === null ? undefined : run.lookFor?.(element);
    const own_ms = action.kind === "wait" ? (action.timeout_s ?? Infinity) * 1_000 : Infinity;
    const timeout_ms = Math.min(left_ms, own_ms);
    try {
      if (left_ms <= 0) throw new DeadlineError(step, left_ms);
      await withDeadline(step, timeout_ms + GRACE_MS, runAction(run, action, timeout_ms), clock);
    } catch (err) {
      const failure = failureOf(err);
      const why = scrubAll(explain(failure, action, own_ms < left_ms ? own_ms : null, run));
      throw new RecipeError(
        `${run.name} failed at step ${scrub(step)}: ${why}`,
        failure.kind === "timeout",
        (await touched?.()) ?? null,
      );
    }
    const ms = clock.monotonic() - since;
    left_ms -= ms;
    run.onStep(`${scrub(step)}: ${ms} ms`, ms, (await touched?.()) ?? null);
    if (action.kind === "click") await run.afterClick();
  }
}

function elementOf(action: RecipeAction): StepElement | null {
  if (!("selector" in action) || action.selector === undefined) return null;
  const { selector, frame } = action;
  return { selector, frame };
}

/** Playwright's own timeouts fire first and are more informative. */
const GRACE_MS = 500;
const MAX_SHOWN = 200;

const short = (text: string): string =>
  text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;

/** The step without what it enters. */
function describeAction(action: RecipeAction): string {
  switch (action.kind) {
    case "wait":
    case "click":
    case "fill":
    case "select_option":
    case "check":
    case "uncheck":
      return `${action.kind} ${short(action.selector)}`;
    case "press":
      return `press ${shownKey(action.key)}`;
    case "scroll":
      return `scroll ${action.amount}`;
    case "navigate":
      return `navigate ${short(withoutCredentials(action.url))}`;
    case "type":
    case "evaluate":
      return action.kind;
  }
}

function withoutCredentials(raw: string): string {
  const url = new URL(raw);
  url.username = "";
  url.password = "";
  return url.href;
}

async function runAction(run: RecipeRun, action: RecipeAction, timeout: number): Promise<unknown> {
  const { page, refusal, clock, hide } = run;
  switch (action.kind) {
    case "wait":
      return locatorIn(page, action).first().waitFor({ timeout });
    case "click": {
      const clickCount = action.click_count ?? 1;
      return locatorIn(page, action).first().click({ timeout, clickCount });
    }
    case "fill":
      return fillSecret(run, action, timeout);
    case "select_option":
      return locatorIn(page, action).first().selectOption(action.values, { timeout });
    case "check":
    case "uncheck":
      return locatorIn(page, action)
        .first()
        .setChecked(action.kind === "check", { timeout });
    case "type":
      return typeSecret(run, action);
    case "press": {
      const { key, selector, frame } = action;
      const field = selector === undefined ? null : locatorIn(page, { selector, frame }).first();
      return pressHiding({ page, clock, hide, field, key }, timeout);
    }
    case "scroll":
      return page.evaluate(`scrollBy({ top: ${action.amount}, behavior: "instant" })`);
    case "navigate": {
      const why = await refusal?.(action.url);
      if (why) throw refused(`refused to open it: ${why}`);
      return page.goto(action.url, { timeout, waitUntil: "load" });
    }
    case "evaluate":
      return evaluate(page, action.code, undefined);
  }
}

/** Why the step failed. Playwright's call log is read, not shown: it repeats the text to be filled in. */
function explain(
  failure: ActionFailure,
  action: RecipeAction,
  own_ms: number | null,
  run: RecipeRun,
): string {
  const { message } = failure.error;
  if (failure.kind === "timeout") {
    const bound =
      own_ms === null
        ? `timeout_s of the ${run.name} (${run.timeout_s} s) is over`
        : `not there within ${own_ms / 1_000} s`;
    const reason = "selector" in action ? reasonOf(message) : null;
    return reason === null ? bound : `${reason}; ${bound}`;
  }
  if (
    /parsing .*selector|not a valid (CSS |XPath )?(selector|expression)|Unknown engine|Malformed/i.test(
      message,
    )
  )
    return `the selector is not valid: ${firstLine(message)}`;
  return firstLine(message);
}

const firstLine = (text: string): string => short(text.split("\n")[0]?.trim() ?? "");

const REASONS: [RegExp, string][] = [
  [/intercepts pointer events/, "another element covers it"],
  [/element is not enabled/, "the element is disabled"],
  [/element is not editable/, "the element is not editable"],
  [/element is outside of the viewport/, "the element cannot be scrolled into view"],
  [/element is not stable/, "the element keeps moving"],
  [/element is not visible|resolved to hidden/, "the element is not visible"],
];

function reasonOf(call_log: string): string {
  return REASONS.find(([pattern]) => pattern.test(call_log))?.[1] ?? "no element matches";
}
