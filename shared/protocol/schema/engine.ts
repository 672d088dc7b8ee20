import { z } from "@hono/zod-openapi";
import { httpUrl } from "./http-url.ts";
import { NextCursor } from "./page.ts";

/** Slugs of engines, presets, skills and conventions. */
export const RegistrySlug = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9._-]{0,63}$/,
    "must be 1 to 64 of a-z, 0-9, dot, hyphen and underscore, and begin with a letter or digit",
  );

const ENGINE_KINDS = ["chat", "vision-chat", "reasoning"] as const;

const EngineUrl = httpUrl("must not contain credentials: name their variable in api_key_env");

/** Name of the hub's variable with the backend's key; never the key. */
const KeyVariable = z
  .string()
  .max(200)
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "must be the name of a variable");

/** Body of PUT /engines/{slug} (rules/engines#engine-record). `timeout_s` in seconds. */
export const PutEngine = z
  .strictObject({
    /** If given, it must be the slug of the path. */
    slug: RegistrySlug.optional(),
    name: z.string().max(200).default(""),
    kind: z.enum(ENGINE_KINDS).default("chat"),
    protocol: z.literal("openai").default("openai"),
    endpoint: EngineUrl,
    model: z.string().min(1).max(200),
    timeout_s: z.number().min(1).max(3_600).default(120),
    supports_tools: z.boolean().default(false),
    use_for_codegen: z.boolean().default(false),
    api_key_env: KeyVariable.nullable().default(null),
    notes: z.string().max(20_000).default(""),
  })
  .openapi("PutEngine");
export type PutEngine = z.infer<typeof PutEngine>;

/** An AI backend (rules/engines#engine-record). `promoted`: the one that `auto` prefers. */
export const Engine = z
  .object({
    slug: z.string(),
    name: z.string(),
    kind: z.enum(ENGINE_KINDS),
    protocol: z.string(),
    endpoint: z.string(),
    model: z.string(),
    timeout_s: z.number(),
    supports_tools: z.boolean(),
    use_for_codegen: z.boolean(),
    api_key_env: z.string().nullable(),
    notes: z.string(),
    promoted: z.boolean(),
    updated_at: z.string(),
  })
  .openapi("Engine");
export type Engine = z.infer<typeof Engine>;
export const EngineList = z
  .object({ engines: z.array(Engine), ...NextCursor })
  .openapi("EngineList");

/**
 * What a caller of the backend needs (rules/engines#resolve-an-engine): the full completions URL and the headers,
 * the key among them. Lives in memory only: never stored, never logged.
 */
export const ResolvedEngine = z
  .object({
    slug: z.string(),
    kind: z.enum(ENGINE_KINDS).default("chat"),
    url: z.string(),
    model: z.string(),
    timeout_s: z.number(),
    headers: z.record(z.string(), z.string()),
    supports_tools: z.boolean().default(false),
  })
  .openapi("ResolvedEngine");
export type ResolvedEngine = z.infer<typeof ResolvedEngine>;
