import { secretNames } from "#shared/protocol/recipe-secrets.ts";
import type { RecipeAction } from "#shared/protocol/schema/recipe.ts";
import type { FleetContext } from "../context.ts";

interface RecipeSecrets {
  secrets: Record<string, string>;
  secret_hosts: Record<string, string[]>;
}

/**
 * Values of the placeholders that the actions use (rules/recipes#secrets-in-recipes), as far as SVC_RECIPE_ENV lists
 * them. One without a value is missing here, and the worker refuses the recipe, naming it. Each may be entered on the
 * hosts that the variable is bound to; one that is bound to none on `own_host` alone, whose recipe it is.
 */
export function recipeSecrets(
  { config }: Pick<FleetContext, "config">,
  actions: readonly RecipeAction[],
  own_host: string | null,
): RecipeSecrets {
  const { recipe_env, recipe_hosts } = config;
  const given: RecipeSecrets = { secrets: {}, secret_hosts: {} };
  for (const name of secretNames(actions)) {
    const value = Object.hasOwn(recipe_env, name) ? recipe_env[name] : undefined;
    if (value === undefined) continue;
    given.secrets[name] = value;
    given.secret_hosts[name] = [...(recipe_hosts[name] ?? (own_host === null ? [] : [own_host]))];
  }
  return given;
}
