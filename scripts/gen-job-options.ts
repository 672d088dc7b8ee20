import { z } from "zod";
import { JobOptions } from "#shared/protocol/schema/job-options.ts";
import { generatedPage, table, writeOrCheck } from "./generated-page.ts";

/** Writes the guide's page of job options from the schema that judges them; `--check` only compares. */

interface Property {
  type?: string | string[];
  enum?: unknown[];
  anyOf?: Property[];
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  default?: unknown;
  description?: string;
  "x-unit"?: string;
}

const { properties } = z.toJSONSchema(JobOptions, { io: "input", unrepresentable: "any" }) as {
  properties: Record<string, Property>;
};

/** zod writes the largest safe integer where a rule names no upper bound. */
const bounded = (n: number | undefined): n is number => n !== undefined && n < 2 ** 53 - 1;

const KINDS: Record<string, string> = {
  string: "text",
  object: "an object",
  boolean: "`true` or `false`",
};

/** The kinds of value that a schema takes, null left out. */
function kindsOf(schema: Property): Property[] {
  if (schema.anyOf) return schema.anyOf.flatMap(kindsOf);
  return [schema.type].flat().flatMap((type) => (type === "null" ? [] : [{ ...schema, type }]));
}

function kindOf(property: Property): string {
  const unit = property["x-unit"] ? ` ${property["x-unit"]}` : "";
  return kindsOf(property)
    .map(({ enum: values, minimum, maximum, maxLength, type }) => {
      if (values) return values.map((value) => `\`${value}\``).join(", ");
      if (bounded(minimum) && bounded(maximum)) return `${minimum} to ${maximum}${unit}`;
      if (bounded(minimum)) return `${minimum} or more${unit}`;
      if (bounded(maxLength)) return `text of at most ${maxLength}`;
      return KINDS[String(type)] ?? type;
    })
    .join(", or ");
}

const rows = Object.entries(properties)
  .filter(([name]) => name !== "fetch_recipe")
  .map(([name, property]) => [
    `\`${name}\``,
    kindOf(property),
    property.default === null || property.default === undefined
      ? "none"
      : `\`${property.default}\``,
    property.description ?? "",
  ]);

const PAGE = [
  "# Job options",
  "",
  "Everything that `options` of `POST /jobs` may hold; every option may be left out.",
  "",
  "`flotilla fetch --option KEY=VALUE` takes the same names. A [preset](../how-to/engines.md#presets) is a named set of them, and what the job says itself wins. The table is generated from the schema that judges a job (`bun run gen`).",
  "",
  ...table(["Option", "Value", "Default", "Meaning"], rows),
  "",
  "## What goes together",
  "",
  "- At most one of `use_profile`, `attach`, `clone_chrome_profile` and `attach_to_job`.",
  "- `codegen-loop` needs a `goal`; `rerun` needs `rerun_from` or `code`, and `rerun_from` wins.",
  "- `attach` and `keep_session` are for mode `fetch`.",
  "- `egress` narrows what the worker allows and never widens it: see [control where browsers connect](../how-to/egress.md).",
  "- `download_video` stores bodies whatever `capture_assets` says.",
  "- A session that `keep_session` leaves open goes on with `dialog_policy` `wait`.",
];

if (import.meta.main) await writeOrCheck([await generatedPage("reference/job-options", PAGE)]);
