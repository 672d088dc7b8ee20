import { MASK } from "#shared/kit/hide-credentials.ts";
import { createMask } from "#shared/kit/secret-forms.ts";
import type { RecipeAction } from "#shared/protocol/schema/recipe.ts";

/** Shorter values would black out half of every message. */
const MIN_LENGTH = 3;

/**
 * Removes what must not be shown from messages: the values of secrets in whatever spelling, and whatever the actions
 * enter.
 */
export function createScrubber(
  secrets: Readonly<Record<string, string>>,
  actions: readonly RecipeAction[],
): (text: string) => string {
  const entered = actions.flatMap((a) => {
    if (a.kind === "press") return shownKey(a.key) === a.key ? [] : [a.key];
    return a.kind === "fill" || a.kind === "type" ? [a.text] : [];
  });
  const long = entered.filter(({ length }) => length >= MIN_LENGTH);
  return createMask([...Object.values(secrets), ...long]).text;
}

const NAMED = /^((Control|ControlOrMeta|Alt|Meta|Shift)\+)*[A-Z]([A-Za-z]+\d*|\d+)$/;
const COMMAND = /^(Shift\+)?(Control|ControlOrMeta|Alt|Meta)\+(Shift\+)?.$/u;

/** A key by its name, alone or with others. Letters are typed, one after the other: they are not shown. */
export const shownKey = (key: string): string =>
  NAMED.test(key) || COMMAND.test(key) ? key : MASK;
