import { secretNames } from "#shared/recipe-secrets.ts";
import type { RecipeAction } from "#shared/schema/recipe.ts";
import type { HubContext } from "../context.ts";

/**
 * Values of the placeholders that the actions use (fleet spec §2.7), as far as SVC_RECIPE_ENV lists them. One without a
 * value is missing here, and the worker refuses the recipe by its name.
 */
export function recipeSecrets(
  { config }: HubContext,
  actions: readonly RecipeAction[],
): Record<string, string> {
  const values = secretNames(actions)
    .filter((name) => Object.hasOwn(config.recipe_env, name))
    .map((name) => [name, config.recipe_env[name]]);
  return Object.fromEntries(values);
}
