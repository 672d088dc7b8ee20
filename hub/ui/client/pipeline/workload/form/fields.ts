import { EXAMPLES } from "../../workloads/examples.ts";

/** Every setting of a workload (shared/protocol/schema/workload.ts) as a field of a form; bounds are in the units of the API. */
export interface Field {
  /** Where it is in the body: "backoff.base_s". */
  path: string;
  label: string;
  kind: "text" | "long" | "int" | "number" | "switch" | "json" | "lines" | "env" | "choice";
  hint?: string;
  min?: number;
  max?: number;
  choices?: string[];
  /** Empty says null, or leaves it out below executor_config. */
  optional?: boolean;
  /** Only for these executors. */
  of?: string[];
}

const MODULES = ["python_module", "bun_module"];

export const FIELDS: Record<string, Field[]> = {
  General: [
    { path: "name", label: "Name", kind: "text" },
    { path: "description", label: "Description", kind: "long", optional: true },
    {
      path: "enabled",
      label: "Enabled",
      kind: "switch",
      hint: "Off: it keeps its tasks and accepts new ones, but none runs",
    },
    {
      path: "supervisor_enabled",
      label: "Supervised",
      kind: "switch",
      hint: "The supervisor may pause it and retry its failed tasks",
    },
  ],
  Executor: [
    {
      path: "executor_type",
      label: "Executor",
      kind: "choice",
      choices: Object.keys(EXAMPLES),
    },
    {
      path: "executor_config.argv",
      label: "Command",
      kind: "lines",
      hint: "One argument per line; the task is JSON on its stdin",
      of: ["command"],
      optional: true,
    },
    {
      path: "executor_config.source_path",
      label: "Source folder",
      kind: "text",
      hint: "On the worker's machine",
      of: MODULES,
      optional: true,
    },
    {
      path: "executor_config.module",
      label: "Module",
      kind: "text",
      of: MODULES,
      optional: true,
    },
    {
      path: "executor_config.plugin",
      label: "Plugin",
      kind: "text",
      hint: "Name of a plugin of this server that has the executor",
      of: [...MODULES, "command"],
      optional: true,
    },
    {
      path: "executor_config.init_kwargs",
      label: "Arguments of its start",
      kind: "json",
      hint: "A JSON object",
      of: MODULES,
      optional: true,
    },
    {
      path: "executor_config.python",
      label: "Python",
      kind: "text",
      hint: "Path of the interpreter",
      of: ["python_module"],
      optional: true,
    },
    {
      path: "executor_config.options",
      label: "Job options",
      kind: "json",
      hint: "A JSON object of job options",
      of: ["fleet_fetch"],
      optional: true,
    },
    {
      path: "executor_config.hub_url",
      label: "Hub",
      kind: "text",
      hint: "http://…, if it is not the worker's own",
      of: ["fleet_fetch"],
      optional: true,
    },
    {
      path: "executor_config.env",
      label: "Environment",
      kind: "env",
      hint: "NAME=value, one per line",
      optional: true,
    },
    {
      path: "executor_config.memory_mb",
      label: "Memory limit (MB)",
      kind: "int",
      ...{ min: 16, max: 1_048_576, optional: true },
    },
    {
      path: "executor_config.recycle_after",
      label: "New process after this many tasks",
      kind: "int",
      ...{ min: 1, max: 1_000_000, optional: true },
      of: MODULES,
    },
  ],
  Running: [
    { path: "priority", label: "Priority", kind: "int", min: -1_000_000, max: 1_000_000 },
    { path: "batch_size", label: "Tasks per claim", kind: "int", min: 1, max: 10_000 },
    {
      path: "max_in_flight",
      label: "Running at once, at most",
      kind: "int",
      hint: "Empty: as many as there are slots",
      ...{ min: 1, max: 1_000_000, optional: true },
    },
    { path: "lease_secs", label: "Lease (seconds)", kind: "int", min: 1, max: 86_400 },
    {
      path: "timeout_s",
      label: "Time limit (seconds)",
      kind: "number",
      hint: "Empty: none",
      ...{ min: 0.1, max: 864_000, optional: true },
    },
    {
      path: "rate_limit.count",
      label: "Rate limit: claims",
      kind: "int",
      hint: "Empty: no limit",
      ...{ min: 1, max: 1_000_000, optional: true },
    },
    {
      path: "rate_limit.per_s",
      label: "in this many seconds",
      kind: "number",
      ...{ min: 0.1, max: 86_400, optional: true },
    },
    {
      path: "host_affinity",
      label: "Only on these machines",
      kind: "lines",
      hint: "Host names, one per line; empty: everywhere",
      optional: true,
    },
    {
      path: "emits",
      label: "May submit to",
      kind: "lines",
      hint: "Workloads that its output may submit tasks to, one per line",
      optional: true,
    },
  ],
  Retries: [
    { path: "max_attempts", label: "Attempts", kind: "int", min: 1, max: 1_000 },
    {
      path: "backoff.kind",
      label: "Wait before the next",
      kind: "choice",
      choices: ["fixed", "linear", "exponential"],
    },
    { path: "backoff.base_s", label: "First wait (seconds)", kind: "number", min: 0, max: 86_400 },
    {
      path: "backoff.max_s",
      label: "Longest wait (seconds)",
      kind: "number",
      min: 0,
      max: 604_800,
    },
    {
      path: "backoff.jitter",
      label: "Spread",
      kind: "number",
      hint: "0 to 1: share of the wait",
      min: 0,
      max: 1,
    },
  ],
  Schedule: [
    {
      path: "schedule",
      label: "Schedule",
      kind: "text",
      hint: "Five fields of cron, e.g. */10 * * * *; empty: none",
      optional: true,
    },
    { path: "schedule_tz", label: "Time zone", kind: "text" },
  ],
};

export const ALL_FIELDS = Object.values(FIELDS).flat();
