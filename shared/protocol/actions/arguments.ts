import { z } from "@hono/zod-openapi";
import { ACTION_TIMEOUT_S, MAX_PROMPT_BYTES, SESSION_TTL_S } from "../limits.ts";
import { RegistrySlug } from "../schema/engine.ts";
import { TargetUrl } from "../schema/job.ts";

/** Building blocks for the arguments of several actions. */

/** Where a page may be sent: a web page, or the blank one. */
export const StartUrl = z.union([z.literal("about:blank"), TargetUrl]);
export const idle_ttl_s = z.int().min(SESSION_TTL_S.idle_min).max(SESSION_TTL_S.idle_max);

export const selector = z.string().min(1).max(4_096);
export const button = z.enum(["left", "middle", "right"]).default("left");
export const load_state = z.enum(["load", "domcontentloaded", "networkidle", "commit"]);
export const text = z.string().max(1_000_000);
/** The frame that an action applies to: the selector of its iframe, or a list from outside in. Default: the page itself. */
export const frame = z.union([selector, z.array(selector).min(1).max(10)]).optional();
/** From the element's upper left corner, in CSS pixels; default: its middle. */
export const position = z.strictObject({ x: z.number(), y: z.number() }).optional();
/** A point of the page as it is shown, in CSS pixels. */
export const point = { x: z.number().optional(), y: z.number().optional() };
export const picture = {
  format: z.enum(["png", "jpeg", "webp"]).default("png"),
  quality: z.int().min(1).max(100).optional(),
  full_page: z.boolean().default(false),
  selector: selector.optional(),
};

/** Every action takes it, in seconds. */
const timeout_s = z.number().min(0.1).max(ACTION_TIMEOUT_S.max).default(ACTION_TIMEOUT_S.default);
export const args = <S extends z.ZodRawShape>(shape: S) => z.strictObject({ ...shape, timeout_s });
export const none = args({});
export const in_frame = args({ frame });

/** Arguments of an action that calls an engine. `auto`: the promoted one, else the only one. */
export const engineArgs = <S extends z.ZodRawShape>(shape: S, default_timeout_s: number) =>
  z.strictObject({
    ...shape,
    engine: RegistrySlug.default("auto"),
    timeout_s: timeout_s.default(default_timeout_s),
  });

const byteLength = (value: unknown): number =>
  new TextEncoder().encode(typeof value === "string" ? value : JSON.stringify(value)).length;
export const fitsPrompt = (value: unknown): boolean => byteLength(value) <= MAX_PROMPT_BYTES;
export const too_long = { error: `must be at most ${MAX_PROMPT_BYTES} bytes` };
export const prompt = z.string().min(1).refine(fitsPrompt, too_long);

/** A file given to an `input type=file`: inline, or (hub to worker) already on the worker under its upload id. */
export const InputFile = z.strictObject({
  name: z.string().min(1).max(255),
  mime: z.string().max(255).default("application/octet-stream"),
  content_base64: z.base64().max(3_000_000).optional(),
  upload_id: z.string().max(64).optional(),
});
export type InputFile = z.infer<typeof InputFile>;
