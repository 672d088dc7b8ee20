import type { AttemptRow } from "#hub/platform/db/rows.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import { RecipeAction } from "#shared/protocol/schema/recipe.ts";
import { addRecipe } from "../registries/hosts.ts";
import { OFFERED_TAG, skills } from "../registries/skills.ts";
import type { TraceStep } from "./door.ts";
import { type ScriptedJob, say } from "./job.ts";

/** Longer ones are programs, not steps. */
const MAX_STEPS = 30;
const READS = new Set<TraceStep["action"]>([
  ...([
    "screenshot",
    "aria_snapshot",
    "pdf",
    "content",
    "text",
    "markdown",
    "links",
    "tabs",
    "keepalive",
    "pick",
  ] as const),
  ...(["dialogs", "downloads", "read_download"] as const),
]);
/** Fields whose text must not be recorded. */
const SECRET = /pass|pwd|secret|token|otp|pin\b|cvv|cvc|card|ssn/i;

/**
 * What the script did as the actions of a recipe (rules/scripts#offers); null when a recipe cannot say it: other actions,
 * another host, something typed that may be a secret, or nothing at all that changes a page.
 */
export function recipeOf(trace: readonly TraceStep[], host: string): RecipeAction[] | null {
  const actions: RecipeAction[] = [];
  for (const { action, args, url } of trace) {
    if (!URL.canParse(url) || new URL(url).hostname !== host) return null;
    if (READS.has(action)) continue;
    const step = stepOf(action, args);
    if (step === null) return null;
    actions.push(step);
  }
  const changes = actions.some(({ kind }) => kind !== "wait" && kind !== "evaluate");
  return changes && actions.length <= MAX_STEPS ? actions : null;
}

function stepOf(action: TraceStep["action"], args: Record<string, unknown>): RecipeAction | null {
  const { timeout_s, ...given } = args;
  const fits = (
    kind: string,
    fields: readonly string[],
    more: object = {},
  ): RecipeAction | null => {
    // An argument that a recipe's step has no place for, unless it says what a step does anyway.
    const extra = Object.entries(given).filter(([name, value]) => {
      if (fields.includes(name) || value === undefined) return false;
      return PLAIN[name] !== value;
    });
    if (extra.length > 0) return null;
    const picked = Object.fromEntries(fields.map((name) => [name, given[name]]));
    const parsed = RecipeAction.safeParse({ kind, ...picked, ...more });
    return parsed.success ? parsed.data : null;
  };
  switch (action) {
    case "wait":
      return fits("wait", ["selector"], { timeout_s });
    case "click":
      return fits("click", ["selector"]);
    case "fill":
      return SECRET.test(String(given.selector)) ? null : fits("fill", ["selector", "text"]);
    case "type":
      return fits("type", ["text"]);
    case "press":
      return fits("press", ["key"]);
    case "scroll":
      return fits("scroll", ["amount"]);
    case "navigate":
      return fits("navigate", ["url"]);
    case "evaluate":
      return given.arg === undefined ? fits("evaluate", ["code"]) : null;
    default:
      return null;
  }
}

/** Arguments that say what happens without them. */
const PLAIN: Record<string, unknown> = {
  button: "left",
  click_count: 1,
  delay_ms: 0,
  wait_until: "load",
  state: "visible",
};

/** Paths that mean only themselves as a recipe's pattern. */
const LITERAL = /^[^*?[\]{}!\\]+$/;

/**
 * Offers what a successful script is worth to later jobs (rules/scripts#offers): a skill, and where steps can say it a recipe of
 * the host. Neither changes what any job does before a person takes it: the skill carries the tag `offered`, the recipe is
 * not `enabled`. A full registry is noted in the job's log and fails nothing.
 */
export async function offerFindings(
  job: ScriptedJob,
  attempt: AttemptRow,
  trace: readonly TraceStep[],
): Promise<void> {
  const { ctx, row } = job;
  const { job_id, host, url } = row;
  const goal = row.options.goal ?? "";
  const made: Record<string, string> = {};
  try {
    const slug = `${host.replace(/[^a-z0-9._-]/g, "-").slice(0, 40)}-${job_id.toLowerCase()}`
      .replace(/^[^a-z0-9]+/, "")
      .slice(0, 64);
    await skills.put(ctx, slug, {
      name: goal.slice(0, 200),
      description: `Reached on ${url.slice(0, 2_000)}: ${goal}`.slice(0, 20_000),
      host_pattern: host,
      code: attempt.script ?? "",
      tags: [OFFERED_TAG],
      created_by: "ai",
      created_from_job: job_id,
    });
    made.skill = slug;
    const pattern = new URL(url).pathname;
    const actions = LITERAL.test(pattern) ? recipeOf(trace, host) : null;
    if (actions) {
      await addRecipe(ctx, host, {
        pattern,
        description: goal.slice(0, 2_000),
        actions,
        goal: goal || null,
        code: null,
        timeout_s: 30,
        created_by: "ai",
        created_from_job: job_id,
        enabled: false,
      });
      made.recipe = pattern;
    }
  } catch (err) {
    await say(job, "warn", "offer", `not everything could be offered: ${errorMessage(err)}`);
  }
  const what = `skill ${made.skill}${made.recipe ? ` and a recipe for ${made.recipe}` : ""}`;
  if (made.skill)
    await say(job, "info", "offer", `offered for later jobs: ${what}`, { ...made, host });
}
