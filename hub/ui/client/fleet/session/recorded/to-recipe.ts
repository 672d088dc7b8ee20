import type { RecipeAction } from "#shared/protocol/schema/recipe.ts";
import { leftOut, openAddress } from "./addresses.ts";
import { type ChosenStep, nameOf, selectorOf, startOf, type Written } from "./chosen.ts";

/** One step as a step of a recipe, or why a recipe cannot say it. */
export function recipeAction(step: ChosenStep): RecipeAction | string {
  if (step.kind === "navigate") return { kind: "navigate", url: openAddress(step) };
  if (step.kind === "scroll") return { kind: "scroll", amount: step.amount };
  if (step.kind === "tab")
    return "A recipe stays in its tab: the steps of another one are left to a script.";
  const selector = selectorOf(step);
  const at = step.frame.length > 0 ? { selector, frame: step.frame } : { selector };
  switch (step.kind) {
    case "click":
      return step.click_count > 1
        ? { kind: "click", ...at, click_count: step.click_count }
        : { kind: "click", ...at };
    case "fill":
      return { kind: "fill", ...at, text: step.text };
    case "select_option":
      return step.values.length > 0
        ? { kind: "select_option", ...at, values: step.values }
        : `What was chosen in “${nameOf(step)}” is a secret: add this step by hand.`;
    case "check":
    case "uncheck":
      return { kind: step.kind, ...at };
    case "press":
      return { kind: "press", ...at, key: step.key };
    case "upload":
      return `A recipe holds no files: “${nameOf(step)}” gets none.`;
  }
}

/** The steps as a recipe of the page that they begin on (rules/recipes#actions). */
export function toRecipe(steps: readonly ChosenStep[]): Written<RecipeAction[]> {
  const { starts_at, rest } = startOf(steps);
  const body: RecipeAction[] = [];
  const notes = steps.flatMap((step) => (step.kind === "navigate" ? leftOut(step) : []));
  let tab = steps[0]?.tab ?? 0;
  for (const step of rest) {
    if (step.kind === "tab") tab = step.tab;
    const action = recipeAction(step);
    if (typeof action === "string") notes.push(action);
    else if (tab === (steps[0]?.tab ?? 0)) body.push(action);
  }
  return { starts_at, body, notes: [...new Set(notes)] };
}
