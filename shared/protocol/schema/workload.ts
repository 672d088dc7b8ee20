import { z } from "@hono/zod-openapi";
import { EXECUTOR_TYPES, EXECUTORS } from "../executors.ts";
import { ProxyOption } from "../proxy.ts";
import { checking, ExecutorCheck, ExecutorState } from "./executor.ts";
import { NextCursor } from "./page.ts";
import { CodeText, VersionNote } from "./workload-code.ts";

export const ExecutorType = z.enum(EXECUTOR_TYPES);
export type ExecutorType = z.infer<typeof ExecutorType>;

/** Fits a path segment, a file name and a cron-like name. */
export const Slug = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9_-]{0,62}$/,
    "must be 1 to 63 of a-z, 0-9, hyphen and underscore, beginning with a letter or digit",
  );

/** Text that a command line, a path or an environment can carry. */
const argument = (most: number) =>
  z
    .string()
    .max(most)
    .refine((text) => !text.includes("\u0000"), { error: "must not contain NUL" });
const EnvName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,199}$/, "must be a variable's name");

/**
 * What runs a task (rules/pipeline-workloads#executor-configuration). `python_module`, `bun_module`: `source_path` and
 * `module`, a plugin of the control plane, or the `code` itself, which a record names by its `code_version`. `command`: `argv`, with the task as JSON on its stdin. `fleet_fetch`:
 * `options` of the fleet job, `hub_url` when it is not the worker's own hub.
 */
export const ExecutorConfig = z
  .strictObject({
    source_path: argument(4_096).optional(),
    module: argument(1_000)
      .optional()
      .meta({ description: "The file or package in the source folder that has the executor." }),
    plugin: Slug.optional(),
    code: CodeText.optional().meta({ description: "The module itself, kept in versions." }),
    code_version: z.int().min(1).max(1_000_000_000).optional(),
    init_kwargs: z.record(z.string(), z.unknown()).optional(),
    argv: z.array(argument(32_768)).min(1).max(1_000).optional(),
    python: argument(4_096).optional(),
    options: z
      .record(z.string(), z.unknown())
      .refine(({ proxy }) => !ProxyOption.safeParse(proxy).data?.username, {
        path: ["proxy"],
        error:
          "has a login, which everybody who can read workloads would see: set it on the host or the worker",
      })
      .optional(),
    hub_url: argument(4_096)
      .refine((raw) => /^https?:$/.test(URL.parse(raw)?.protocol ?? ""), "must be an http:// URL")
      .optional(),
    fleet: z
      .boolean()
      .optional()
      .meta({ description: "Whether its tasks may run jobs of the fleet themselves." }),
    env: z.record(EnvName, argument(32_768)).optional(),
    memory_mb: z
      .int()
      .min(16)
      .max(1_048_576)
      .optional()
      .meta({ description: "A process that takes more is ended. Without it there is no limit." }),
    recycle_after: z.int().min(1).max(1_000_000).optional().meta({
      description: "A warm process ends after this many tasks, and another one begins.",
    }),
  })
  .openapi("ExecutorConfig");
export type ExecutorConfig = z.infer<typeof ExecutorConfig>;

/** Wait before attempt n+1: `base_s`, `base_s * n` or `base_s * 2^(n-1)`, at most `max_s`, spread by ±`jitter` of itself. */
export const Backoff = z
  .strictObject({
    kind: z.enum(["fixed", "linear", "exponential"]).default("exponential").meta({
      description: "How the wait grows: not at all, by the first wait, or by doubling.",
    }),
    base_s: z
      .number()
      .min(0)
      .max(86_400)
      .default(1)
      .meta({ description: "The wait after the first failed attempt." }),
    max_s: z
      .number()
      .min(0)
      .max(604_800)
      .default(300)
      .meta({ description: "The longest wait, before it is spread." }),
    jitter: z.number().min(0).max(1).default(0.25),
  })
  .openapi("Backoff");
export type Backoff = z.infer<typeof Backoff>;

/** At most `count` claims in every `per_s` seconds, whenever those begin; all of them may come at once. */
export const RateLimit = z
  .strictObject({
    count: z.int().min(1).max(1_000_000),
    per_s: z.number().min(0.1).max(86_400).meta({
      description:
        "The limit holds for every stretch of this length, and all of its claims may come at once.",
    }),
  })
  .openapi("RateLimit");
export type RateLimit = z.infer<typeof RateLimit>;

/** Settings of a workload that a client may write (rules/pipeline-workloads#fields-of-a-workload). Durations in seconds. */
const mutable = {
  name: z.string().min(1).max(200).meta({ description: "For people; its slug stays as it is." }),
  description: z
    .string()
    .max(10_000)
    .default("")
    .meta({ description: "For people: what its tasks do, and who looks after it." }),
  enabled: z.boolean().default(true),
  supervisor_enabled: z.boolean().default(false),
  executor_type: ExecutorType.meta({
    description: "What runs a task: a Python or a TypeScript module, a command, or a browser job.",
  }),
  executor_config: ExecutorConfig.prefault({}),
  priority: z.int().min(-1_000_000).max(1_000_000).default(0).meta({
    description: "Tasks of a workload with a higher one are claimed first.",
  }),
  batch_size: z
    .int()
    .min(1)
    .max(10_000)
    .default(1)
    .meta({ description: "How many tasks a worker takes at once for each of its slots." }),
  lease_secs: z.int().min(1).max(86_400).default(60).meta({
    description:
      "A worker renews its lease while a task runs. If it is silent for this long, others get the task.",
  }),
  max_attempts: z
    .int()
    .min(1)
    .max(1_000)
    .default(3)
    .meta({ description: "How often a task is tried before it counts as failed." }),
  timeout_s: z.number().min(0.1).max(864_000).nullable().default(null),
  host_affinity: z.array(z.string().min(1).max(253)).max(1_000).default([]),
  backoff: Backoff.prefault({}),
  rate_limit: RateLimit.nullable().default(null),
  max_in_flight: z.int().min(1).max(1_000_000).nullable().default(null),
  emits: z.array(Slug).max(100).default([]),
  schedule: z.string().max(200).nullable().default(null),
  schedule_tz: z.string().max(100).default("UTC").meta({
    description: "The IANA name of the zone that its clock shows, such as Europe/Berlin.",
  }),
};

type ConfigKeys = readonly (keyof ExecutorConfig)[];
/** The compiler refuses a key that the configuration lacks. */
const KINDS: Record<ExecutorType, { takes: ConfigKeys; needs: ConfigKeys }> = EXECUTORS;

const others = (needs: ConfigKeys) =>
  needs
    .filter((key) => key !== UNSAID)
    .slice(1)
    .join(", ");
/** Nobody writes it by hand: a record has it. */
const UNSAID = "code_version";

const checkExecutor = (
  w: { executor_type: ExecutorType; executor_config: ExecutorConfig },
  ctx: z.RefinementCtx,
) => {
  const { needs } = KINDS[w.executor_type];
  if (needs.length > 0 && !needs.some((key) => w.executor_config[key] !== undefined))
    ctx.addIssue({
      code: "custom",
      path: ["executor_config", needs[0] ?? ""],
      message: `is needed by executor_type ${w.executor_type}${needs.length > 1 ? ` (or ${others(needs)})` : ""}`,
    });
  const { code, code_version, ...config } = w.executor_config;
  if (code === undefined && code_version === undefined) return;
  const refuse = (key: string, message: string) =>
    ctx.addIssue({ code: "custom", path: ["executor_config", key], message });
  if (!KINDS[w.executor_type].takes.includes("code"))
    refuse("code", `is not taken by executor_type ${w.executor_type}`);
  for (const key of ["plugin", "source_path", "module"] as const)
    if (config[key] !== undefined) refuse(key, "must not be given beside code");
};

/** Body of POST /workloads (rules/pipeline-workloads#create-a-workload): unknown keys are refused. */
export const WorkloadCreate = z
  .strictObject({
    slug: Slug,
    ...mutable,
    name: mutable.name.optional(),
    version_note: VersionNote.default(""),
  })
  .superRefine(checkExecutor)
  .transform((w) => ({ ...w, name: w.name ?? w.slug }))
  .openapi("WorkloadCreate");
export type WorkloadCreate = z.infer<typeof WorkloadCreate>;

/** Fields of a record besides its settings: a body may include them, as they were read, and they are ignored. */
const readOnly = {
  executor: z.unknown().optional(),
  next_times: z.unknown().optional(),
  created_at: z.unknown().optional(),
  updated_at: z.unknown().optional(),
};

/** Body of PUT /workloads/{slug}: replaces every mutable field; `slug`, when given, must be the path's. */
export const WorkloadUpdate = z
  .strictObject({
    slug: Slug.optional(),
    ...mutable,
    ...readOnly,
    version_note: VersionNote.default(""),
  })
  .superRefine(checkExecutor)
  .transform(
    ({ executor: _e, next_times: _n, created_at: _c, updated_at: _u, ...settings }) => settings,
  )
  .openapi("WorkloadUpdate");
export type WorkloadUpdate = z.infer<typeof WorkloadUpdate>;

/**
 * Body of POST /workloads/check: settings that nobody has saved. `slug`: the workload that they are for, whose
 * `code_version` they may name, and which the worker that tries them must be allowed to run.
 */
export const CheckDraft = z
  .strictObject({
    slug: Slug.optional(),
    executor_type: mutable.executor_type,
    executor_config: mutable.executor_config,
    host_affinity: mutable.host_affinity,
    ...checking,
  })
  .superRefine(checkExecutor)
  .openapi("CheckDraft");
export type CheckDraft = z.infer<typeof CheckDraft>;

export const SetEnabled = z.strictObject({ enabled: z.boolean() }).openapi("SetEnabled");
export const SetSupervisorEnabled = z
  .strictObject({ supervisor_enabled: z.boolean() })
  .openapi("SetSupervisorEnabled");

/** A workload as the API shows it. */
export const Workload = z
  .object({
    slug: z.string(),
    ...mutable,
    /** Whether its code loads on the workers that have tried. */
    executor: ExecutorState,
    /** When its schedule is due next; empty without one. */
    next_times: z.array(z.string()),
    created_at: z.string(),
    updated_at: z.string(),
  })
  .openapi("Workload");
export type Workload = z.infer<typeof Workload>;

/** Answer of POST /workloads; `check` only where `check=true` asked for it. */
export const CreatedWorkload = Workload.extend({ check: ExecutorCheck.optional() }).openapi(
  "CreatedWorkload",
);
export const WorkloadList = z
  .object({ workloads: z.array(Workload), ...NextCursor })
  .openapi("WorkloadList");
export type WorkloadList = z.infer<typeof WorkloadList>;
