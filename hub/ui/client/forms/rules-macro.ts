import { z } from "@hono/zod-openapi";
import { SpawnInstances } from "#shared/protocol/schema/agent.ts";
import { BROWSER_OPTION_NAMES } from "#shared/protocol/schema/browser-options.ts";
import { PutConvention } from "#shared/protocol/schema/convention.ts";
import { StoredCookie } from "#shared/protocol/schema/cookie.ts";
import { PutEngine } from "#shared/protocol/schema/engine.ts";
import { CheckExecutor } from "#shared/protocol/schema/executor.ts";
import { PutHost } from "#shared/protocol/schema/host.ts";
import { JobStatus } from "#shared/protocol/schema/job.ts";
import { ChangePart } from "#shared/protocol/schema/job-changes.ts";
import { JobMode, JobOptions } from "#shared/protocol/schema/job-options.ts";
import { Labels, MAX_LABELS } from "#shared/protocol/schema/labels.ts";
import { LlmEngine, LlmTest, StartDeploy } from "#shared/protocol/schema/operations.ts";
import { MAX_BLOB_BYTES, MAX_STATE_BYTES } from "#shared/protocol/schema/plugin.ts";
import { PutPreset } from "#shared/protocol/schema/preset.ts";
import { ProfileName } from "#shared/protocol/schema/profile.ts";
import { TaskIn } from "#shared/protocol/schema/queue.ts";
import { LoginRecipe, Recipe, RecipeAction } from "#shared/protocol/schema/recipe.ts";
import { SavedListName } from "#shared/protocol/schema/saved-list.ts";
import { CreateSession } from "#shared/protocol/schema/session.ts";
import { CreateSignedLink } from "#shared/protocol/schema/signed-link.ts";
import { PutSkill } from "#shared/protocol/schema/skill.ts";
import { CreateToken } from "#shared/protocol/schema/token.ts";
import { PutWatch } from "#shared/protocol/schema/watch.ts";
import { WorkloadCreate, WorkloadUpdate } from "#shared/protocol/schema/workload.ts";
import type { FieldRules, Rules, RulesOf } from "./rules.ts";

/** The bodies that people fill in. */
export const BODIES = {
  WorkloadCreate,
  WorkloadUpdate,
  TaskIn,
  CheckExecutor,
  SpawnInstances,
  CreateToken,
  StartDeploy,
  LlmEngine,
  LlmTest,
  JobOptions,
  CreateSession,
  ViewerLink: CreateSignedLink.options[0],
  PutHost,
  StoredCookie,
  Recipe,
  LoginRecipe,
  PutEngine,
  PutSkill,
  PutConvention,
  PutPreset,
  PutWatch,
  SaveProfile: z.object({ name: ProfileName }),
  SaveList: z.object({ name: SavedListName }),
} as const;
type Bodies = typeof BODIES;

interface JsonSchema {
  type?: string | string[];
  enum?: string[];
  const?: string;
  default?: unknown;
  description?: string;
  "x-unit"?: string;
  "x-fault"?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  pattern?: string;
  format?: string;
  items?: JsonSchema;
  anyOf?: JsonSchema[];
  properties?: Record<string, JsonSchema>;
  propertyNames?: JsonSchema;
  additionalProperties?: JsonSchema;
  required?: string[];
}

/** The sentence that a schema has for a text which does not match its pattern: JSON schemas have no place for it. */
function patternFault(schema: z.core.$ZodType): string | undefined {
  for (const { _zod } of schema._zod.def.checks ?? []) {
    const def = _zod.def as { format?: string; error?: (issue: object) => unknown };
    const said = def.format === "regex" ? def.error?.({}) : undefined;
    if (typeof said === "string") return said;
  }
  return undefined;
}

const jsonSchema = (schema: z.ZodType): JsonSchema =>
  z.toJSONSchema(schema, {
    io: "input",
    unrepresentable: "any",
    override: ({ zodSchema, jsonSchema: made }) => {
      const fault = patternFault(zodSchema);
      if (fault !== undefined) Object.assign(made, { "x-fault": fault });
    },
  }) as JsonSchema;

/** Zod writes the largest safe integer where a schema sets no bound. */
const bound = (value: number | undefined) =>
  value === undefined || Math.abs(value) >= Number.MAX_SAFE_INTEGER ? undefined : value;

function typeOf({ type, enum: choices, const: only }: JsonSchema): FieldRules["type"] {
  if (choices || only !== undefined) return "choice";
  const types = [type].flat();
  if (types.includes("boolean")) return "switch";
  if (types.includes("integer") || types.includes("number")) return "number";
  if (types.includes("array")) return "list";
  return types.includes("string") ? "text" : "other";
}

/** What a value is where it is not null; of several shapes none is checked here. */
function shapeOf(property: JsonSchema): JsonSchema {
  const shapes = property.anyOf?.filter(({ type }) => type !== "null") ?? [property];
  return shapes.length === 1 ? (shapes[0] ?? {}) : {};
}

function rulesFrom(property: JsonSchema, required: boolean): FieldRules {
  const value = shapeOf(property);
  return {
    type: typeOf(value),
    required: required || undefined,
    nullable: property.anyOf?.some(({ type }) => type === "null") || undefined,
    default: property.default,
    description: property.description ?? value.description,
    unit: property["x-unit"] ?? value["x-unit"],
    integer: value.type === "integer" || undefined,
    min: bound(value.minimum),
    max: bound(value.maximum),
    min_length: value.minLength ?? value.minItems,
    max_length: value.maxLength ?? value.maxItems,
    pattern: value.pattern,
    pattern_fault: value["x-fault"],
    format: value.format === "date-time" ? "datetime" : undefined,
    choices: value.enum ?? (value.const === undefined ? undefined : [value.const]),
    items: value.items && rulesFrom(value.items, true),
  } as FieldRules;
}

/** Two levels deep: no form writes anything below that. */
function fieldsOf(schema: JsonSchema): Rules {
  const rules: Rules = {};
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    rules[name] = rulesFrom(property, schema.required?.includes(name) ?? false);
    const { properties = {}, required } = shapeOf(property);
    for (const [part, below] of Object.entries(properties))
      rules[`${name}.${part}`] = rulesFrom(below, required?.includes(part) ?? false);
  }
  return rules;
}

/**
 * The rules of a body by the paths of its fields. Runs when the app is bundled: a browser gets a few kB of data in place
 * of a library of 96 kB.
 */
export function rulesOf<K extends keyof Bodies>(body: K): RulesOf<z.input<Bodies[K]>> {
  const rules = fieldsOf(jsonSchema(BODIES[body]));
  // Macros give JSON: what is undefined is left out.
  return JSON.parse(JSON.stringify(rules));
}

/** The rules of each kind of a recipe's step. */
export function stepRules(): Record<string, Rules> {
  const kinds = RecipeAction.options.map((option) => [
    option.shape.kind.value,
    fieldsOf(jsonSchema(option)),
  ]);
  return JSON.parse(JSON.stringify(Object.fromEntries(kinds)));
}

/** The rules of a label's key and of its value, and how many labels there may be. */
export function labelRules(): { key: FieldRules; value: FieldRules; most: number } {
  const { propertyNames = {}, additionalProperties = {} } = jsonSchema(Labels);
  const rules = {
    key: rulesFrom(propertyNames, true),
    value: rulesFrom(additionalProperties, true),
  };
  return JSON.parse(JSON.stringify({ ...rules, most: MAX_LABELS }));
}

const CHOICES = { JobStatus, JobMode, ChangePart } as const;

/** The values of an enum of the API, in its order. */
export const choicesOf = <K extends keyof typeof CHOICES>(
  name: K,
): z.infer<(typeof CHOICES)[K]>[] => [...CHOICES[name].options] as never;

/** What a plugin may keep, in bytes. */
export const pluginLimits = () => ({ blob: MAX_BLOB_BYTES, state: MAX_STATE_BYTES });

/** The names of the options that a browser has, wherever they are said. */
export const browserOptionNames = (): string[] => [...BROWSER_OPTION_NAMES];
