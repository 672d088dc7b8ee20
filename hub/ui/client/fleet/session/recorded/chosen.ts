import type { RecordedStep } from "#shared/protocol/schema/recorded-input.ts";
import { openAddress } from "./addresses.ts";

/** A step with the selector that somebody chose for it; by default its best. */
export type ChosenStep = RecordedStep & { selector?: string };

/** Where the steps begin, and what cannot be written in some form. */
export interface Written<T> {
  /** The page that must be open before the first step; null: the steps open it. */
  starts_at: string | null;
  body: T;
  /** What was left out, in sentences for people. */
  notes: string[];
}

export const selectorOf = (step: ChosenStep): string =>
  step.selector ?? ("selectors" in step ? (step.selectors[0]?.selector ?? "") : "");

/** The first address is where whatever repeats the steps begins. */
export function startOf(steps: readonly ChosenStep[]): {
  starts_at: string | null;
  rest: readonly ChosenStep[];
} {
  const [first, ...rest] = steps;
  return first?.kind === "navigate"
    ? { starts_at: openAddress(first), rest }
    : { starts_at: null, rest: steps };
}

/** What a step is done to, as people call it. */
export const nameOf = (step: ChosenStep): string => {
  if (step.kind === "navigate") return step.url;
  if (!("name" in step)) return "";
  return step.name || step.role || selectorOf(step);
};
