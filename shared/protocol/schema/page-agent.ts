import { z } from "@hono/zod-openapi";
import { MAX_URL_LENGTH } from "../limits.ts";
import { TokenUsage } from "./attempt.ts";

/** An element of the snapshot that the engine was shown. */
const ref = z
  .string()
  .regex(/^(f\d+)?e\d+$/, "must be a ref from the page's snapshot, such as e12");
const thought = z.string().max(4_000).nullish();
const text = z.string().max(20_000);

/** What an engine may do with a page, and nothing else (rules/session-actions#agent). Other members are dropped. */
export const AgentMove = z.discriminatedUnion("action", [
  z.object({ action: z.literal("click"), thought, ref }),
  z.object({ action: z.literal("fill"), thought, ref, text }),
  z.object({
    action: z.literal("press"),
    thought,
    key: z.string().min(1).max(100),
    ref: ref.nullish(),
  }),
  z.object({
    action: z.literal("select"),
    thought,
    ref,
    values: z.array(z.string().max(10_000)).min(1).max(100),
  }),
  z.object({
    action: z.literal("scroll"),
    thought,
    amount: z.number().min(-1e5).max(1e5).nullish(),
    ref: ref.nullish(),
  }),
  z.object({
    action: z.literal("navigate"),
    thought,
    url: z.string().min(1).max(MAX_URL_LENGTH),
  }),
  z.object({ action: z.literal("back"), thought }),
  z.object({ action: z.literal("wait"), thought, seconds: z.number().min(0).max(10) }),
  z.object({ action: z.literal("done"), thought, answer: text }),
  z.object({ action: z.literal("give_up"), thought, reason: text }),
]);
export type AgentMove = z.infer<typeof AgentMove>;

/** The same as a flat JSON schema: engines follow it better than a union, and the move is checked anyway. */
export const AGENT_MOVE_SCHEMA = {
  type: "object",
  properties: {
    thought: { type: "string", description: "why, in one sentence" },
    action: {
      type: "string",
      enum: AgentMove.options.map((option) => option.shape.action.value),
    },
    ref: { type: "string" },
    text: { type: "string" },
    key: { type: "string" },
    values: { type: "array", items: { type: "string" } },
    amount: { type: "number" },
    url: { type: "string" },
    seconds: { type: "number" },
    answer: { type: "string" },
    reason: { type: "string" },
  },
  required: ["thought", "action"],
};

/** One step of an agent. The screenshot shows the page that the engine decided about; at most 100 KB of JPEG. */
export const AgentStep = z.object({
  /** Counts from 1. */
  n: z.int(),
  thought: z.string().nullable(),
  /** Without text that was entered into a secret field. */
  action: AgentMove,
  ok: z.boolean(),
  error: z.string().nullable(),
  /** After the step. */
  url: z.string(),
  ms: z.number(),
  screenshot_base64: z.string().nullable(),
});
export type AgentStep = z.infer<typeof AgentStep>;

/**
 * Result of `agent`. `ended`: `done` and `gave_up` are the engine's words; `max_steps` and `timeout` its bounds;
 * `engine_error` and `page_error`: the engine failed, or the page hung or crashed, after the first step (`reason` says how).
 */
export const AgentResult = z
  .object({
    done: z.boolean(),
    answer: z.string().nullable(),
    ended: z.enum(["done", "gave_up", "max_steps", "timeout", "engine_error", "page_error"]),
    reason: z.string().nullable(),
    engine: z.string(),
    model: z.string(),
    usage: TokenUsage,
    steps: z.array(AgentStep),
  })
  .openapi("AgentResult");
export type AgentResult = z.infer<typeof AgentResult>;

/** Result of `ask`; `json` when a schema was given. */
export const AskResult = z
  .object({
    text: z.string(),
    json: z.unknown().optional(),
    engine: z.string(),
    model: z.string(),
    usage: TokenUsage.nullable(),
  })
  .openapi("AskResult");
export type AskResult = z.infer<typeof AskResult>;
