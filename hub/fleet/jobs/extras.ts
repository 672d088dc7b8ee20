import type { JobRow } from "#hub/platform/db/rows.ts";
import { MAX_JOB_COOKIES_BYTES } from "#shared/protocol/limits.ts";
import { RunExtras } from "#shared/protocol/link/messages.ts";
import type { StoredCookie } from "#shared/protocol/schema/cookie.ts";
import type { JobOptions } from "#shared/protocol/schema/job.ts";
import type { FleetContext } from "../context.ts";
import { type HostForJob, hostForJob } from "../registries/hosts.ts";
import { profileForJob } from "../registries/profiles.ts";
import { recipeSecrets } from "../registries/recipe-secrets.ts";
import { tell } from "./events.ts";
import { proxyOfJob } from "./job-proxy.ts";

/**
 * What the registries add to a run (rules/recipes#chosen-at-submission, rules/hosts#cookies-of-a-job,
 * rules/profiles#profile-of-a-run): the recipe that was chosen when the job was submitted, the host's login recipe and
 * popup policy, the cookies of the host and of `cookies_from`, the values of the recipes' placeholders, and the
 * profile. A value that is not set is missing here, and the worker fails the job with its name.
 */
export async function runExtras(
  ctx: Pick<FleetContext, "db" | "clock" | "config" | "bus">,
  row: JobRow,
  { settings, cookies }: HostForJob,
): Promise<RunExtras> {
  const { options } = row;
  const named = options.cookies_from;
  const from = named === null ? [] : (await hostForJob(ctx, named)).cookies;
  const recipe = options.fetch_recipe;
  const login_recipe = usesRecipes(options) ? (settings?.login_recipe ?? null) : null;
  const actions = [...(recipe?.actions ?? []), ...(login_recipe?.actions ?? [])];
  return RunExtras.parse({
    // Of two equal cookies a browser keeps the one it gets last: the one of the job's own host.
    cookies: await withinFrame(ctx, row, [...from, ...cookies]),
    recipe,
    login_recipe,
    profile: await profileForJob(ctx, options),
    // A job that was stored by an earlier version says nothing.
    final_state: options.final_state !== false,
    popup_policy: settings?.popup_policy ?? "allow",
    ...(await proxyOfJob(ctx, row, settings)),
    ...recipeSecrets(ctx, actions, row.host),
  });
}

/** Recipes belong to fetch jobs that do not refuse them (rules/recipes#chosen-at-submission). */
export const usesRecipes = ({ mode, fetch_strategy }: JobOptions): boolean =>
  mode === "fetch" && fetch_strategy === "recipe";

/** The last cookies, as many as an assignment can carry; the log says when some were left out. */
async function withinFrame(
  ctx: Pick<FleetContext, "clock" | "db" | "bus">,
  row: JobRow,
  cookies: StoredCookie[],
): Promise<StoredCookie[]> {
  let bytes = 0;
  const fits = (cookie: StoredCookie) => {
    bytes += Buffer.byteLength(JSON.stringify(cookie));
    return bytes <= MAX_JOB_COOKIES_BYTES;
  };
  const first = cookies.findLastIndex((cookie) => !fits(cookie)) + 1;
  if (first > 0)
    await tell(
      ctx,
      row.job_id,
      "warn",
      "assigned",
      `${first} cookies were left out: a job cannot carry that many`,
    );
  return cookies.slice(first);
}
