import type { Issue } from "#shared/client/errors.ts";
import { fieldsOf, KINDS, type Kind } from "./recipe-fields.ts";

/** A step as it is being written: its fields may be wrong, and the API says where. */
export interface RawAction {
  kind: string;
  [field: string]: unknown;
}

/** `key` is the step's own while it moves. */
export interface Step {
  key: string;
  action: RawAction;
}

/** A recipe or a login recipe as it is being written: `head` is everything but its actions. */
export interface Draft {
  head: Record<string, unknown>;
  steps: Step[];
}

let made = 0;
export const newStep = (action: RawAction): Step => {
  made += 1;
  return { key: `step-${made}`, action };
};

export const blankStep = (kind: Kind): Step => newStep({ ...KINDS[kind].blank });

export function draftOf({ actions, ...head }: Record<string, unknown>): Draft {
  return { head, steps: ((actions ?? []) as RawAction[]).map(newStep) };
}

export const recordOf = ({ head, steps }: Draft): Record<string, unknown> => ({
  ...head,
  actions: steps.map(({ action }) => action),
});

const isAction = (value: unknown): value is RawAction =>
  typeof value === "object" && value !== null && typeof (value as RawAction).kind === "string";

/** The draft that a text describes. A step that is the same at its place keeps its key, and with it what its last run showed.
 * @throws Error in words for the person who writes it.
 */
export function draftFromText(text: string, before: Draft): Draft {
  const value: unknown = JSON.parse(text);
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new Error('must be an object: {"actions": [...]}');
  const { actions = [], ...head } = value as Record<string, unknown>;
  if (!Array.isArray(actions)) throw new Error("actions must be a list");
  const wrong = actions.findIndex((action) => !isAction(action));
  if (wrong !== -1) throw new Error(`actions.${wrong} must be an object with a kind`);
  const steps = actions.map((action: RawAction, i) => {
    const old = before.steps[i];
    return old && JSON.stringify(old.action) === JSON.stringify(action) ? old : newStep(action);
  });
  return { head, steps };
}

/** The same step with another kind: fields that both kinds have are kept. */
export function withKind(action: RawAction, kind: Kind): RawAction {
  const next: RawAction = { ...KINDS[kind].blank };
  for (const [name] of fieldsOf(kind)) if (name in action) next[name] = action[name];
  return next;
}

export function moved<T>(list: readonly T[], from: number, to: number): T[] {
  const next = [...list];
  const [one] = next.splice(from, 1);
  if (one !== undefined) next.splice(Math.max(0, Math.min(next.length, to)), 0, one);
  return next;
}

/** The issues of a request without the part of their place that leads to the recipe. */
export const issuesBelow = (issues: readonly Issue[], ...at: (string | number)[]): Issue[] =>
  issues
    .filter(({ loc }) => at.every((part, i) => String(loc[i]) === String(part)))
    .map(({ loc, msg }) => ({ loc: loc.slice(at.length), msg }));

/** The issue of the field itself. */
export function messageAt(issues: readonly Issue[], ...at: (string | number)[]): string | null {
  const own = issuesBelow(issues, ...at).filter(({ loc }) => loc.length === 0);
  return own.map(({ msg }) => msg).join("; ") || null;
}

/** Without the issues of this place or of anything inside it, because it has changed since. */
export const issuesWithout = (issues: readonly Issue[], ...at: (string | number)[]): Issue[] =>
  issues.filter(({ loc }) => !at.every((part, i) => String(loc[i]) === String(part)));
