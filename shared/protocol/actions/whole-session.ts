import { z } from "@hono/zod-openapi";
import { AGENT_STEPS, ENGINE_ACTION_TIMEOUT_S } from "../limits.ts";
import { AgentResult, AskResult } from "../schema/page-agent.ts";
import { RecipeAction } from "../schema/recipe.ts";
import { args, engineArgs, fitsPrompt, idle_ttl_s, prompt, too_long } from "./arguments.ts";
import { acts, looks } from "./entry.ts";
import { kept, nothing } from "./results.ts";

/** Actions that keep a session, and those of many steps. */
export const WHOLE_SESSION_ACTIONS = {
  keepalive: acts({
    args: args({ idle_ttl_s: idle_ttl_s.optional() }),
    result: kept,
    summary: "Count as activity; can set the idle TTL",
    example: { idle_ttl_s: 900 },
    script: [
      "keepalive(options?: { idle_ttl_s?: number }): Promise<{ idle_ttl_s: number | null; expires_at: string }>;",
    ],
    positions: [["idle_ttl_s"]],
  }),
  recipe: acts({
    args: args({ actions: z.array(RecipeAction).min(1).max(500) }),
    result: nothing,
    summary: "Run the actions of a recipe",
    example: { actions: [{ kind: "click", selector: "h1" }] },
    script: [
      `/** Steps of a host's recipe. \${ENV:NAME} in a text stands for a value of the hub's environment: the way for passwords. */`,
      `recipe(actions: { kind: "wait" | "click" | "fill" | "type" | "press" | "scroll" | "navigate" | "evaluate"; [field: string]: unknown }[]): Promise<null>;`,
    ],
    positions: [["actions"]],
  }),
  ask: looks({
    args: engineArgs(
      {
        prompt,
        /** The answer is JSON of this JSON schema. */
        schema: z.record(z.string(), z.unknown()).refine(fitsPrompt, too_long).optional(),
        /** Whether the engine gets a screenshot of the page; by default engines of kind vision-chat do. */
        screenshot: z.boolean().optional(),
      },
      ENGINE_ACTION_TIMEOUT_S.ask,
    ),
    result: AskResult,
    summary: "Ask an engine about the page",
    example: { prompt: "What does the cheapest one cost?" },
    script: [
      "/** A language model's answer about the page; with schema (JSON Schema) json has that shape. Slow: prefer evaluate. */",
      "ask(prompt: string, options?: { engine?: string; schema?: object; screenshot?: boolean } & Timeout): Promise<{ text: string; json?: any }>;",
    ],
    positions: [["prompt"]],
  }),
  agent: acts({
    args: engineArgs(
      {
        goal: prompt,
        max_steps: z.int().min(AGENT_STEPS.min).max(AGENT_STEPS.max).default(AGENT_STEPS.default),
      },
      ENGINE_ACTION_TIMEOUT_S.agent,
    ),
    result: AgentResult,
    summary: "Let an engine work towards a goal, step by step",
    example: { goal: "Sign in as demo and read the balance", max_steps: 10 },
    script: [
      "/** A language model acts on the page by itself until the goal is reached. Slow: for what no selector can say. */",
      "agent(goal: string, options?: { engine?: string; max_steps?: number } & Timeout): Promise<{ done: boolean; answer: string | null; reason: string | null }>;",
    ],
    positions: [["goal"]],
  }),
} as const;
