import type { z } from "zod";
import type { WorkloadUpdate } from "#shared/protocol/schema/workload.ts";
import type { FieldRules, PathOf } from "../../../forms/rules.ts";
import { rulesOf } from "../../../forms/rules-macro.ts" with { type: "macro" };

/** Of the settings of a workload (shared/protocol/schema/workload.ts): bounds, defaults and choices, in the units of the API. */
export const RULES = rulesOf("WorkloadUpdate");

/** How a setting is written; without one it follows from the type in the schema. */
type Kind = "text" | "long" | "number" | "switch" | "json" | "lines" | "env" | "choice" | "code";

/** A setting as a field of a form. */
export interface Field {
  /** Where it is in the body: "backoff.base_s". */
  path: PathOf<z.input<typeof WorkloadUpdate>>;
  label: string;
  kind?: Kind;
  hint?: string;
  /** The form that has it; without it both do. */
  only?: "create" | "settings";
}

const KINDS: Record<FieldRules["type"], Kind> = {
  text: "text",
  number: "number",
  switch: "switch",
  choice: "choice",
  list: "lines",
  other: "json",
};
export const rulesAt = ({ path }: Field): FieldRules => RULES[path];
export const kindOf = (field: Field): Kind => field.kind ?? KINDS[rulesAt(field).type];

/** Whether an empty field says something: null, an empty list, or nothing at all. */
export function mayBeEmpty(field: Field): boolean {
  const { nullable, required, default: fallback, type } = rulesAt(field);
  const [parent = ""] = field.path.split(".");
  const whole = (RULES as Record<string, FieldRules>)[parent];
  if (nullable || type === "list" || fallback === "" || whole?.nullable) return true;
  return fallback === undefined && !required;
}

export const FIELDS: Record<string, Field[]> = {
  General: [
    { path: "name", label: "Name" },
    {
      path: "version_note",
      label: "What is new in its code",
      hint: "For those who read its versions later",
      only: "create",
    },
    { path: "description", label: "Description", kind: "long" },
    {
      path: "enabled",
      label: "Enabled",
      hint: "Off: it keeps its tasks and accepts new ones, but none runs",
    },
    {
      path: "supervisor_enabled",
      label: "Supervised",
      hint: "The supervisor may pause it and retry its failed tasks",
    },
  ],
  Executor: [
    {
      path: "executor_type",
      label: "Executor",
    },
    {
      path: "executor_config.argv",
      label: "Command",
      hint: "One argument per line; the task is JSON on its stdin",
    },
    {
      path: "executor_config.source_path",
      label: "Source folder",
      hint: "On the worker's machine",
    },
    {
      path: "executor_config.module",
      label: "Module",
    },
    {
      path: "executor_config.code",
      label: "Code",
      kind: "code",
      only: "create",
    },
    {
      path: "executor_config.code_version",
      label: "Version of its code",
      hint: "Written in the tab Code; another number goes back to that version",
      only: "settings",
    },
    {
      path: "executor_config.plugin",
      label: "Plugin",
      hint: "Name of a plugin of this server that has the executor",
    },
    {
      path: "executor_config.init_kwargs",
      label: "Start-up arguments",
      kind: "json",
      hint: "A JSON object",
    },
    {
      path: "executor_config.python",
      label: "Python",
      hint: "Path of the interpreter",
    },
    {
      path: "executor_config.options",
      label: "Job options",
      kind: "json",
      hint: "A JSON object of job options",
    },
    {
      path: "executor_config.hub_url",
      label: "Hub",
      hint: "http://…, if it is not the worker's own",
    },
    {
      path: "executor_config.fleet",
      label: "Runs jobs itself",
      hint: "Its tasks may submit and read jobs of the fleet",
    },
    {
      path: "executor_config.env",
      label: "Environment",
      kind: "env",
      hint: "NAME=value, one per line",
    },
    {
      path: "executor_config.memory_mb",
      label: "Memory limit (MB)",
    },
    {
      path: "executor_config.recycle_after",
      label: "New process after this many tasks",
    },
  ],
  Running: [
    { path: "priority", label: "Priority" },
    { path: "batch_size", label: "Tasks per claim" },
    {
      path: "max_in_flight",
      label: "Running at once, at most",
      hint: "Empty: as many as there are slots",
    },
    { path: "lease_secs", label: "Lease (seconds)" },
    {
      path: "timeout_s",
      label: "Time limit (seconds)",
      hint: "Empty: none",
    },
    {
      path: "rate_limit.count",
      label: "Rate limit: claims",
      hint: "Empty: no limit",
    },
    {
      path: "rate_limit.per_s",
      label: "in this many seconds",
    },
    {
      path: "host_affinity",
      label: "Only on these machines",
      hint: "Host names, one per line; empty: everywhere",
    },
    {
      path: "emits",
      label: "May submit to",
      hint: "Workloads that its output may submit tasks to, one per line",
    },
  ],
  Retries: [
    { path: "max_attempts", label: "Attempts" },
    {
      path: "backoff.kind",
      label: "Wait before the next",
    },
    { path: "backoff.base_s", label: "First wait (seconds)" },
    {
      path: "backoff.max_s",
      label: "Longest wait (seconds)",
    },
    {
      path: "backoff.jitter",
      label: "Spread",
      hint: `${RULES["backoff.jitter"].min} to ${RULES["backoff.jitter"].max}: share of the wait`,
    },
  ],
  Schedule: [
    {
      path: "schedule",
      label: "Schedule",
      hint: "Five fields of cron, e.g. */10 * * * *; empty: none",
    },
    { path: "schedule_tz", label: "Time zone" },
  ],
};

export const ALL_FIELDS = Object.values(FIELDS).flat();
