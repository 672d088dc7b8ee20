import { Glob } from "bun";
import type { Recipe } from "#shared/protocol/schema/recipe.ts";

/** No URL path and no sensible pattern holds it: with it for the slash, `*` runs over slashes too. */
const SLASH = "\u0001";
const flat = (text: string): string => text.replaceAll("/", SLASH);

/** Bun's matcher takes time in proportion to pattern × path; one on regular expressions can be kept busy forever. */
function matches(pattern: string, path: string): boolean {
  const anchored = /^[/*!{[]/.test(pattern) ? pattern : `/${pattern}`;
  return new Glob(flat(anchored)).match(flat(path));
}

function decoded(path: string): string {
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}

/** Whether a recipe's `pattern` is for this URL path, percent-encoded or as people read it. */
export const matchesPath = (pattern: string, path: string): boolean =>
  matches(pattern, path) || matches(pattern, decoded(path));

/**
 * The recipe for a URL's path (rules/recipes#which-recipe): the longest pattern that matches, of equally long ones the last
 * in the list. `pattern` is a glob on the path alone (no query, no fragment): `*` any text, slashes included, so that the
 * default `*` is for every path; `?` one character, `[ab]`, `{a,b}`, and `!` in front for what does not match. A pattern that
 * begins with a letter is read as if it began with a slash.
 */
export function findRecipe(recipes: readonly Recipe[], url: string): Recipe | null {
  const path = new URL(url).pathname;
  let best: Recipe | null = null;
  for (const recipe of recipes)
    if (
      recipe.enabled !== false &&
      (best === null || recipe.pattern.length >= best.pattern.length) &&
      matchesPath(recipe.pattern, path)
    )
      best = recipe;
  return best;
}
