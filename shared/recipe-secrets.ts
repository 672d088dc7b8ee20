import type { RecipeAction } from "./schema/recipe.ts";

/** Stands in the text of a `fill` or `type` action for a value of the hub's environment (fleet spec §2.7). */
const PLACEHOLDER = /\$\{ENV:([A-Za-z_][A-Za-z0-9_]*)\}/g;

/** The names whose values the actions need. */
export function secretNames(actions: readonly RecipeAction[]): string[] {
  const names = new Set<string>();
  for (const action of actions)
    if (action.kind === "fill" || action.kind === "type")
      for (const [, name = ""] of action.text.matchAll(PLACEHOLDER)) names.add(name);
  return [...names];
}

/** The text with every placeholder replaced. A value that is not there is the caller's to refuse, see `missingSecret`. */
export const fillSecrets = (text: string, secrets: Readonly<Record<string, string>>): string =>
  text.replace(PLACEHOLDER, (whole, name: string) =>
    Object.hasOwn(secrets, name) ? (secrets[name] ?? whole) : whole,
  );

/** Why a recipe cannot run, in words that name the variable and never a value; null when every value is there. */
export function missingSecret(
  actions: readonly RecipeAction[],
  secrets: Readonly<Record<string, string>>,
): string | null {
  const name = secretNames(actions).find((n) => !Object.hasOwn(secrets, n));
  if (name === undefined) return null;
  return `\${ENV:${name}} has no value: ${name} must be listed in the hub's SVC_RECIPE_ENV and set in its environment`;
}
