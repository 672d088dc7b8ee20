import type { Page } from "playwright-core";
import { errorMessage } from "#shared/kit/errors.ts";
import { missingSecret, type SecretHosts } from "#shared/protocol/recipe-secrets.ts";
import type { RecipeAction } from "#shared/protocol/schema/recipe.ts";
import { connectBrowser } from "../actions/connect.ts";
import { RecipeError, type RecipeRun, runRecipe } from "../actions/recipe.ts";
import { INNER_SIZE, type InnerSize, lookForStep, type Touching } from "../actions/touched.ts";
import { evaluateInOwnWorld } from "../cdp/own-world.ts";
import type { Tracked } from "../record/targets.ts";
import type { FetchContext } from "./fetch-context.ts";
import { shortUrl } from "./net-errors.ts";
import { JobTrouble } from "./trouble.ts";

/** How long a page that has loaded may take to show that somebody is logged in. */
const LOGGED_IN_MS = 2_000;

type Stage = "login" | "recipe";

/** What a job must do on its page, as chosen by the hub. */
const recipesOf = ({ run }: FetchContext) => {
  const { recipe, login_recipe } = run.extras;
  return {
    login: login_recipe && login_recipe.actions.length > 0 ? login_recipe : null,
    recipe: recipe && recipe.actions.length > 0 ? recipe : null,
  };
};

/** @throws JobTrouble naming a placeholder without a value, before anything is opened. */
export function checkSecrets(ctx: FetchContext): void {
  const { login, recipe } = recipesOf(ctx);
  const actions = [...(login?.actions ?? []), ...(recipe?.actions ?? [])];
  const missing = missingSecret(actions, ctx.run.extras.secrets);
  if (missing) throw new JobTrouble(`the recipe cannot run: ${missing}`);
}

/**
 * Logs in if the host asks for it and runs the recipe (rules/recipes#logging-in), after the page has loaded. The time
 * of the steps does not count against `max_wait_seconds`: each recipe has its own `timeout_s`. The wait after clicks
 * does count.
 * @throws JobTrouble naming the step that failed.
 */
export async function runRecipes(ctx: FetchContext, main: Tracked): Promise<void> {
  const { trouble, run, outcome } = ctx;
  const { login, recipe } = recipesOf(ctx);
  if (!login && !recipe) return;
  outcome.stage = login ? "login" : "recipe";
  const connected = await trouble.race(connectBrowser(run.browser));
  try {
    const page = await trouble.race(connected.page(main.target_id));
    const opened = { page, main };
    if (login) await trouble.race(logIn(ctx, opened, login));
    outcome.stage = "recipe";
    if (recipe) await trouble.race(runSteps(ctx, opened, "recipe", recipe));
  } catch (err) {
    // The page's end, a crash or a refusal is more informative than the step that it cut off.
    if (trouble.trouble) throw trouble.trouble;
    throw err instanceof RecipeError ? new JobTrouble(err.message) : err;
  } finally {
    connected.close();
  }
}

async function logIn(
  ctx: FetchContext,
  opened: OpenedPage,
  login: NonNullable<ReturnType<typeof recipesOf>["login"]>,
): Promise<void> {
  const { story, url } = ctx.run;
  const { page } = opened;
  const { logged_in, timeout_s } = login;
  if (logged_in !== null && (await appears(ctx, page, logged_in, LOGGED_IN_MS))) {
    story.log("info", "login", `already logged in: ${logged_in} is there`);
    return;
  }
  const took_ms = await runSteps(ctx, opened, "login", login);
  if (logged_in !== null) {
    const left_ms = Math.max(LOGGED_IN_MS, timeout_s * 1_000 - took_ms);
    if (!(await appears(ctx, page, logged_in, left_ms)))
      throw new JobTrouble(
        `login failed: ${logged_in} is not there after the login recipe, on ${shortUrl(page.url())}`,
      );
    story.log("info", "login", `logged in: ${logged_in} is there`);
  }
  if (withoutHash(page.url()) === withoutHash(url)) return;
  story.log("info", "login", `back to ${shortUrl(url)}`);
  await runSteps(ctx, opened, "login", { actions: [{ kind: "navigate", url }], timeout_s });
}

const withoutHash = (raw: string): string => {
  const url = new URL(raw);
  url.hash = "";
  return url.href;
};

/** Whether an element is there within `ms`. This wait is not part of the page's loading, so it is not counted. */
async function appears(
  ctx: FetchContext,
  page: Page,
  selector: string,
  ms: number,
): Promise<boolean> {
  const since = ctx.settings.clock.monotonic();
  try {
    await page.waitForSelector(selector, { state: "attached", timeout: ms });
    return true;
  } catch (err) {
    if (err instanceof Error && err.name === "TimeoutError") return false;
    const [why] = errorMessage(err).split("\n");
    throw new JobTrouble(`the login recipe's logged_in ${selector} cannot be evaluated: ${why}`);
  } finally {
    ctx.deadline += ctx.settings.clock.monotonic() - since;
  }
}

/** Where the job's secrets may be entered: as the hub says, otherwise on the host of its URL. */
const hostsOf = ({ url, extras }: FetchContext["run"]): SecretHosts => {
  const own = [new URL(url).hostname];
  const names = Object.keys(extras.secrets);
  return Object.fromEntries(names.map((name) => [name, extras.secret_hosts[name] ?? own]));
};

/**
 * Looks for the elements of steps, without the page's notice. What a step that is over waits for its look does not count
 * against `max_wait_seconds`.
 */
function looksOf(ctx: FetchContext, { page, main }: OpenedPage): RecipeRun["lookFor"] {
  const { browser } = ctx.run;
  const { clock } = ctx.settings;
  const { session, target_id } = main;
  const pages = { active: () => page };
  const shown: Touching = {
    pages: async () => pages,
    browser: () => browser,
    activeTarget: () => target_id,
    innerSize: async () =>
      (await evaluateInOwnWorld(session, target_id, INNER_SIZE, {})) as InnerSize,
  };
  return (element) => {
    const touched = lookForStep(shown, element);
    return async () => {
      const since = clock.monotonic();
      const box = await touched();
      ctx.deadline += clock.monotonic() - since;
      return box;
    };
  };
}

/** The page of the recipes, and what records it. */
interface OpenedPage {
  page: Page;
  main: Tracked;
}

/** @returns the time that the steps took, without waits after clicks. */
async function runSteps(
  ctx: FetchContext,
  opened: OpenedPage,
  stage: Stage,
  { actions, timeout_s }: { actions: RecipeAction[]; timeout_s: number },
): Promise<number> {
  const { run, settings, trouble } = ctx;
  const { story, options } = run;
  let took_ms = 0;
  const spend = (ms: number) => {
    took_ms += ms;
    ctx.deadline += ms;
  };
  const since = settings.clock.monotonic();
  try {
    await runRecipe({
      page: opened.page,
      name: stage === "login" ? "login recipe" : "recipe",
      actions,
      timeout_s,
      secrets: run.extras.secrets,
      secret_hosts: hostsOf(run),
      clock: settings.clock,
      hide: run.hide,
      lookFor: run.is_recorded ? looksOf(ctx, opened) : undefined,
      onStep: (line, ms, box) => {
        spend(ms);
        story.log("info", stage, line, { ms, step: "done", ...(box && { box }) });
      },
      afterClick: () => {
        const left_ms = Math.max(0, ctx.deadline - settings.clock.monotonic());
        const ms = Math.min(options.post_click_seconds * 1_000, left_ms);
        return settings.clock.sleep(ms, trouble.signal);
      },
    });
  } catch (err) {
    if (err instanceof RecipeError)
      story.log("debug", stage, err.message, { step: "failed", ...(err.box && { box: err.box }) });
    throw err;
  } finally {
    const all_ms = settings.clock.monotonic() - since;
    story.log("debug", stage, `${stage} took ${all_ms} ms`, { ms: all_ms });
  }
  return took_ms;
}
