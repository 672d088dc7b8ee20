import type { RecipeAction } from "#shared/protocol/schema/recipe.ts";
import type { ChosenStep } from "../recorded/chosen.ts";
import { recipeAction } from "../recorded/to-recipe.ts";
import { goToTab, goToTabOfOne, type TabCalls } from "./tab-of-step.ts";

/** What repeating a step gave. */
export interface StepResult {
  state: "running" | "ok" | "failed" | "skipped";
  ms: number | null;
  error: string | null;
}

export interface StepCalls extends TabCalls {
  /** Does one step in the active tab. @returns how many milliseconds it took. */
  run(action: RecipeAction): Promise<number>;
  tell(step: ChosenStep, result: StepResult): void;
  isStopped(): boolean;
  /** An error for a person. */
  errorText(err: unknown): string;
}

const result = (
  state: StepResult["state"],
  ms: number | null = null,
  error: string | null = null,
): StepResult => ({ state, ms, error });

/** Does a step where `arrive` leads. @returns whether the next one may follow. */
async function runStep(
  step: ChosenStep,
  arrive: () => Promise<void>,
  { run, tell, errorText }: StepCalls,
): Promise<boolean> {
  const action = recipeAction(step);
  if (typeof action === "string") {
    tell(step, result("skipped", null, action));
    return true;
  }
  tell(step, result("running"));
  try {
    await arrive();
    tell(step, result("ok", await run(action)));
    return true;
  } catch (err) {
    tell(step, result("failed", null, errorText(err)));
    return false;
  }
}

/**
 * Repeats all steps, each in its tab, until one fails. The active tab is the one that the recording began in. A step `tab`
 * says only that the next one is elsewhere: that one looks for its tab.
 */
export async function runSteps(steps: readonly ChosenStep[], calls: StepCalls): Promise<void> {
  let tab = steps[0]?.tab;
  for (const step of steps) {
    if (calls.isStopped()) return;
    if (step.kind === "tab") continue;
    const arrive = async () => {
      if (step.tab !== tab) await goToTab(step, calls);
      tab = step.tab;
    };
    if (!(await runStep(step, arrive, calls))) return;
  }
}

/** Repeats one step of a recording that began in `first_tab`. */
export const runOneStep = (step: ChosenStep, first_tab: number, calls: StepCalls) =>
  runStep(step, () => goToTabOfOne(step, first_tab, calls), calls);
