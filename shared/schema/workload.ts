import { z } from "@hono/zod-openapi";

export const EXECUTOR_TYPES = ["python_module", "bun_module", "command", "fleet_fetch"] as const;
export const ExecutorType = z.enum(EXECUTOR_TYPES);
export type ExecutorType = z.infer<typeof ExecutorType>;

/** Fits a path segment, a file name and a cron-like name. */
export const Slug = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9_-]{0,62}$/,
    "must be 1 to 63 of a-z, 0-9, hyphen and underscore, beginning with a letter or digit",
  );

/**
 * What runs a task (pipeline spec §2.1). `python_module`, `bun_module`: `source_path` and `module`, or a plugin of the
 * control plane. `command`: `argv`, with the task as JSON on its stdin. `fleet_fetch`: `options` of the fleet job.
 */
export const ExecutorConfig = z
  .strictObject({
    source_path: z.string().max(4_096).optional(),
    module: z.string().max(1_000).optional(),
    plugin: Slug.optional(),
    init_kwargs: z.record(z.string(), z.unknown()).optional(),
    argv: z.array(z.string().max(32_768)).min(1).max(1_000).optional(),
    python: z.string().max(4_096).optional(),
    options: z.record(z.string(), z.unknown()).optional(),
    env: z.record(z.string().max(200), z.string().max(32_768)).optional(),
    memory_mb: z.int().min(16).max(1_048_576).optional(),
    recycle_after: z.int().min(1).max(1_000_000).optional(),
  })
  .openapi("ExecutorConfig");
export type ExecutorConfig = z.infer<typeof ExecutorConfig>;

/** Wait before attempt n+1: `base_s`, `base_s * n` or `base_s * 2^(n-1)`, at most `max_s`, spread by ±`jitter` of itself. */
export const Backoff = z
  .strictObject({
    kind: z.enum(["fixed", "linear", "exponential"]).default("exponential"),
    base_s: z.number().min(0).max(86_400).default(1),
    max_s: z.number().min(0).max(604_800).default(300),
    jitter: z.number().min(0).max(1).default(0.25),
  })
  .openapi("Backoff");
export type Backoff = z.infer<typeof Backoff>;

/** At most `count` claims in every `per_s` seconds. */
export const RateLimit = z
  .strictObject({
    count: z.int().min(1).max(1_000_000),
    per_s: z.number().min(0.1).max(86_400),
  })
  .openapi("RateLimit");
export type RateLimit = z.infer<typeof RateLimit>;
