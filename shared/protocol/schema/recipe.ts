import { z } from "@hono/zod-openapi";
import { MAX_RECIPE_ACTIONS, MAX_RECIPES, MAX_URL_LENGTH } from "../limits.ts";

const selector = z.string().min(1).max(4_096);
const timeout_s = z.number().min(0.1).max(3_600);
/** Selectors of iframes, from outside in. */
const frame = z.array(selector).max(10).optional();

/** One step of a recipe (rules/recipes#actions). Selectors are Playwright's; durations in seconds. */
export const RecipeAction = z
  .discriminatedUnion("kind", [
    z.strictObject({ kind: z.literal("wait"), selector, timeout_s: timeout_s.optional(), frame }),
    z.strictObject({
      kind: z.literal("click"),
      selector,
      click_count: z.int().min(1).max(3).optional(),
      frame,
    }),
    z.strictObject({ kind: z.literal("fill"), selector, text: z.string().max(100_000), frame }),
    z.strictObject({ kind: z.literal("type"), text: z.string().max(100_000) }),
    z.strictObject({
      kind: z.literal("press"),
      key: z.string().min(1).max(100),
      /** The element that gets the key; absent: what has the focus. */
      selector: selector.optional(),
      frame,
    }),
    z.strictObject({
      kind: z.literal("select_option"),
      selector,
      values: z.array(z.string().max(10_000)).min(1).max(1_000),
      frame,
    }),
    z.strictObject({ kind: z.literal("check"), selector, frame }),
    z.strictObject({ kind: z.literal("uncheck"), selector, frame }),
    z.strictObject({ kind: z.literal("scroll"), amount: z.number().min(-1e7).max(1e7) }),
    z.strictObject({
      kind: z.literal("navigate"),
      url: z
        .string()
        .max(MAX_URL_LENGTH)
        .refine((raw) => URL.canParse(raw) && /^https?:$/.test(new URL(raw).protocol), {
          error: "must be an absolute http or https URL",
        }),
    }),
    z.strictObject({ kind: z.literal("evaluate"), code: z.string().min(1).max(200_000) }),
  ])
  .openapi("RecipeAction");
export type RecipeAction = z.infer<typeof RecipeAction>;

const actions = z.array(RecipeAction).max(MAX_RECIPE_ACTIONS);

/** A host's recipe (rules/recipes#recipe). `pattern` is a glob on the URL path; the longest match wins. */
export const Recipe = z
  .strictObject({
    pattern: z.string().min(1).max(1_000).default("*"),
    description: z.string().max(2_000).default(""),
    actions: actions.default([]),
    goal: z.string().max(20_000).nullable().default(null),
    code: z.string().max(200_000).nullable().default(null),
    timeout_s: timeout_s.default(30),
    created_by: z.enum(["operator", "ai"]).default("operator"),
    created_from_job: z.string().max(64).nullable().default(null),
    /**
     * False for a recipe that a job has offered and nobody has accepted yet: no job uses it. If left out, it is used.
     */
    enabled: z.boolean().optional(),
  })
  .openapi("Recipe");
export type Recipe = z.infer<typeof Recipe>;

/**
 * How to log in to a host. `logged_in`: a selector that exists once the login has worked; if it exists already, the
 * actions are skipped, and when it is missing after them the login has failed.
 */
export const LoginRecipe = z
  .strictObject({
    actions,
    logged_in: selector.nullable().default(null),
    timeout_s: timeout_s.default(30),
  })
  .openapi("LoginRecipe");
export type LoginRecipe = z.infer<typeof LoginRecipe>;

export const PopupPolicy = z.enum(["allow", "block", "same_tab"]);
export type PopupPolicy = z.infer<typeof PopupPolicy>;

export const RecipeList = z.array(Recipe).max(MAX_RECIPES);
