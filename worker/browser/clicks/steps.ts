import { MAX_RECIPE_ACTIONS } from "#shared/protocol/limits.ts";
import { OPENING_KINDS } from "#shared/protocol/opening-kinds.ts";
import type { RecordedStep } from "#shared/protocol/schema/recorded-input.ts";

/** A step with what tells whether the next one continues it. */
export interface NewStep {
  step: WithoutId<RecordedStep>;
  /** The element, while its document is there; null for steps on none. */
  field: string | null;
  /** A click that puts the cursor into a field. */
  into_field?: boolean;
}
type WithoutId<S> = S extends unknown ? Omit<S, "id"> : never;

interface Kept extends NewStep {
  id: number;
  chars: number;
}

/** All steps together: a page's selectors and texts may be long, and whoever reads the steps gets all of them. */
const MAX_STEPS_CHARS = 1_000_000;
const charsOf = ({ step }: NewStep): number => JSON.stringify(step).length;

/** The steps of one recording, in order, each as short as it can be. */
export interface Steps {
  /** False when there is no room for it. */
  add(next: NewStep): boolean;
  list(): RecordedStep[];
  /** The last step in a tab, if it is one by which a page may open another; null: there is none. */
  lastGesture(tab: number): number | null;
  readonly full: boolean;
}

/** Kinds that only set the state of a field: the last of one field counts, wherever it stands among them. */
const SETS = new Set(["fill", "select_option", "check", "uncheck"]);

export function createSteps(): Steps {
  let kept: Kept[] = [];
  let made = 0;
  let full = false;
  const replace = (old: Kept, next: NewStep, chars: number) => {
    kept = kept.map((one) => (one === old ? { ...next, id: old.id, chars } : one));
  };
  return {
    add: (next) => {
      // The cursor goes into the field by filling it.
      if (next.step.kind === "fill" && kept.at(-1)?.into_field && kept.at(-1)?.field === next.field)
        kept = kept.slice(0, -1);
      const last = kept.at(-1);
      const before = last && continued(kept, last, next);
      const one = before ? merged(before, next) : next;
      const chars = charsOf(one);
      const others = kept.reduce((sum, { chars: each }) => sum + each, 0) - (before?.chars ?? 0);
      full = others + chars > MAX_STEPS_CHARS || (!before && kept.length >= MAX_RECIPE_ACTIONS);
      if (full) return false;
      if (before) {
        replace(before, one, chars);
        return true;
      }
      made += 1;
      kept = [...kept, { ...next, id: made, chars }];
      return true;
    },
    list: () => kept.map(({ step, id }) => ({ ...step, id }) as RecordedStep),
    lastGesture: (tab) => {
      const last = kept.findLast(({ step }) => step.tab === tab);
      return last && OPENING_KINDS.has(last.step.kind) ? last.id : null;
    },
    get full() {
      return full;
    },
  };
}

/** The step that the next one is a part of, or says again. */
function continued(kept: readonly Kept[], last: Kept, { step, field }: NewStep): Kept | null {
  if (step.tab !== last.step.tab) return null;
  if (SETS.has(step.kind)) {
    for (const one of [...kept].reverse()) {
      if (!SETS.has(one.step.kind) || one.step.tab !== step.tab) return null;
      if (one.field === field && isSameSetting(one.step.kind, step.kind)) return one;
    }
    return null;
  }
  const is_again = last.step.kind === step.kind && last.field === field;
  if (step.kind === "click") return is_again && step.click_count > 1 ? last : null;
  return is_again && (step.kind === "scroll" || step.kind === "navigate") ? last : null;
}

const isSameSetting = (one: string, other: string): boolean =>
  one === other || (/check$/.test(one) && /check$/.test(other));

function merged(before: NewStep, next: NewStep): NewStep {
  if (before.step.kind !== "scroll" || next.step.kind !== "scroll") return next;
  return { ...next, step: { ...next.step, amount: before.step.amount + next.step.amount } };
}
