import type { Clock } from "#shared/kit/clock.ts";
import { SESSION_ACTIONS } from "#shared/protocol/actions/session-actions.ts";
import { missingSecret, type SecretHosts } from "#shared/protocol/recipe-secrets.ts";
import type { Box, RecordingEvent } from "#shared/recording/events.ts";
import { ActionFailure, refused } from "../actions/failure.ts";
import { RecipeError, runRecipe } from "../actions/recipe.ts";
import { lookForStep } from "../actions/touched.ts";
import type { Live } from "./live.ts";

const recipeStep = (text: string, outcome: "done" | "failed", box: Box | null): RecordingEvent => ({
  type: "step",
  of: "recipe",
  text,
  outcome,
  ...(box && { box }),
});

interface RecipeCall {
  /** `actions`; `secrets` and `secret_hosts`: what the hub knows about their placeholders. */
  args: Record<string, unknown>;
  timeout_ms: number;
}

/**
 * POST /sessions/{sid}/recipe (rules/session-actions#recipe-in-a-session): the steps of a recipe on the active tab, in one
 * call. There is no wait after a click: use `wait` for that.
 * @returns each step with its time.
 * @throws ActionFailure page, timeout or invalid.
 */
export async function runSessionRecipe(
  live: Live,
  { args: { secrets: given, secret_hosts: bound, ...args }, timeout_ms }: RecipeCall,
  { clock, refusal }: { clock: Clock; refusal(url: string): Promise<string | null> },
): Promise<{ steps: string[] }> {
  const { actions } = SESSION_ACTIONS.recipe.args.parse(args);
  const secrets = (given ?? {}) as Record<string, string>;
  const missing = missingSecret(actions, secrets);
  if (missing) throw new ActionFailure("invalid", { name: "Error", message: missing });
  live.mask.hide(Object.values(secrets));
  const pages = await live.pages();
  const steps: string[] = [];
  try {
    await runRecipe({
      page: pages.active(),
      name: "recipe",
      actions,
      timeout_s: timeout_ms / 1_000,
      secrets,
      secret_hosts: (bound ?? {}) as SecretHosts,
      clock,
      hide: live.mask.hide,
      refusal,
      lookFor: live.recorders.size === 0 ? undefined : (element) => lookForStep(live, element),
      onStep: (line, _ms, box) => {
        steps.push(line);
        live.tell(recipeStep(line, "done", box));
      },
      afterClick: async () => {},
    });
  } catch (err) {
    if (!(err instanceof RecipeError)) throw err;
    live.tell(recipeStep(err.message, "failed", err.box));
    if (!err.timed_out) throw refused(err.message);
    throw new ActionFailure("timeout", { name: "TimeoutError", message: err.message });
  }
  return { steps };
}
