import type { RecipeAction } from "#shared/protocol/schema/recipe.ts";

/** Shorter values would black out half of every message. */
const MIN_LENGTH = 3;

/**
 * Removes what must not be shown from messages: the values of secrets, verbatim and as encoded in URLs and JSON, and
 * whatever the actions enter.
 */
export function createScrubber(
  secrets: Readonly<Record<string, string>>,
  actions: readonly RecipeAction[],
): (text: string) => string {
  const entered = actions.flatMap((a) => (a.kind === "fill" || a.kind === "type" ? [a.text] : []));
  const values = [...Object.values(secrets), ...entered.filter((t) => t.length >= MIN_LENGTH)]
    .filter((value) => value !== "")
    .flatMap((value) => [
      value,
      encodeURIComponent(value.toWellFormed()),
      JSON.stringify(value).slice(1, -1),
    ]);
  // Longest first: one value may be a part of another.
  const ordered = [...new Set(values)].sort((a, b) => b.length - a.length);
  return (text) => ordered.reduce((clean, value) => clean.replaceAll(value, "***"), text);
}
