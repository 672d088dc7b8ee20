import { describe, expect, test } from "bun:test";
import type { z } from "zod";
import { validationError } from "#hub/platform/http/new-app.ts";
import { faultIn, faultsOf } from "#hub/ui/client/forms/faults.ts";
import type { FieldRules, Rules } from "#hub/ui/client/forms/rules.ts";
import { BODIES as FORMS, rulesOf, stepRules } from "#hub/ui/client/forms/rules-macro.ts";
import type { Issue } from "#shared/kit/errors.ts";
import { WorkloadCreate } from "#shared/protocol/schema/workload.ts";

/** Forms judge a body as the API does, by rules that are made of its schemas (rules/web-app#forms-of-the-app). */

type Body = Record<string, unknown>;

/** A good example of each form's body. */
const EXAMPLES: Record<keyof typeof FORMS, Body> = {
  WorkloadCreate: { slug: "w", executor_type: "fleet_fetch" },
  WorkloadUpdate: { name: "W", executor_type: "fleet_fetch" },
  TaskIn: { pk: "a" },
  CheckExecutor: {},
  SpawnInstances: {},
  CreateToken: { name: "ci", role: "viewer" },
  StartDeploy: { target: "prod" },
  LlmEngine: { name: "e", url: "http://e/v1" },
  LlmTest: { engine: "e" },
  JobOptions: {},
  CreateSession: {},
  ViewerLink: { kind: "viewer", id: "s" },
  PutHost: {},
  StoredCookie: { name: "a", value: "b", domain: "x.test" },
  Recipe: {},
  LoginRecipe: { actions: [] },
  PutEngine: { endpoint: "http://e/v1", model: "m" },
  PutSkill: { code: "1" },
  PutConvention: { text: "Be brief." },
  PutPreset: {},
  PutWatch: { url: "http://x.test/", cron: "0 7 * * *" },
  SaveProfile: { name: "p" },
  SaveList: { name: "l" },
};

const namesOfForms = Object.keys(FORMS) as (keyof typeof FORMS)[];
const BODIES: [string, z.ZodType, Rules, Body][] = namesOfForms.map((name) => [
  name,
  FORMS[name],
  rulesOf(name),
  EXAMPLES[name],
]);

/** Values at the bounds of a field and just beyond them. */
function edgesOf({ type, min, max, min_length, max_length, choices, nullable }: FieldRules) {
  const edges: unknown[] = nullable ? [null] : [];
  if (type === "number") {
    for (const bound of [min, max])
      if (bound !== undefined) edges.push(bound - 1, bound, bound + 1);
    edges.push(1.5, Number.NaN);
  }
  if (type === "text") {
    edges.push("", "a", "Ä b\n");
    for (const bound of [min_length, max_length])
      if (bound !== undefined) edges.push("a".repeat(bound), "a".repeat(bound + 1));
  }
  if (type === "list" && max_length !== undefined && max_length <= 1_000)
    edges.push([], new Array(max_length + 1).fill("a"), ["a"], [""]);
  if (choices) edges.push(...choices, "no such choice");
  return edges;
}

/** What the API says of the field at `path`, sentence by sentence. */
function saidOf(schema: z.ZodType, body: unknown, path: string): string[] {
  const parsed = schema.safeParse(body);
  if (parsed.success) return [];
  const { detail } = validationError(parsed.error.issues, "body", body);
  if (typeof detail === "string") return [detail];
  const own = (detail as Issue[]).filter(({ loc }) => loc.slice(1).join(".").startsWith(path));
  return own.map(({ msg }) => msg);
}

function withValue(good: Record<string, unknown>, path: string, value: unknown) {
  const [first = "", second] = path.split(".");
  if (second === undefined) return { ...good, [first]: value };
  return { ...good, [first]: { ...(good[first] as object | undefined), [second]: value } };
}

/** What no bound and no choice says. */
const OF_THE_FORM = /^\S+ must (?!be at |be one of |be above |be below |hold )/;

describe("what a form refuses the API refuses, in the same words", () => {
  for (const [name, schema, rules, good] of BODIES)
    test(name, () => {
      expect(schema.safeParse(good).success).toBe(true);
      expect(faultsOf(rules, good)).toEqual({});
      for (const [path, field] of Object.entries(rules))
        for (const value of edgesOf(field)) {
          const fault = faultIn(field, value);
          if (fault === undefined) continue;
          const said = saidOf(schema, withValue(good, path, value), path);
          // The API names the field in its sentence, and has words of its own for the form of a text.
          const same = said.some((sentence) => sentence.endsWith(fault));
          const formed = said.some((sentence) => OF_THE_FORM.test(sentence));
          if (!fault.startsWith("“"))
            expect([path, value, same || formed]).toEqual([path, value, true]);
          expect([path, value, said.length > 0]).toEqual([path, value, true]);
        }
    });
});

describe("what the API refuses by a bound, a choice or a pattern the form refuses", () => {
  for (const [name, schema, rules, good] of BODIES)
    test(name, () => {
      for (const [path, field] of Object.entries(rules))
        for (const value of edgesOf(field)) {
          const body = withValue(good, path, value);
          const parsed = schema.safeParse(body);
          const codes = ["too_small", "too_big", "invalid_type", "invalid_value", "invalid_format"];
          const known = (parsed.error?.issues ?? []).filter(
            (issue) =>
              issue.path.join(".").startsWith(path) &&
              codes.includes(issue.code) &&
              // Forms of texts besides patterns are the API's to judge.
              (issue.code !== "invalid_format" || field.pattern !== undefined),
          );
          if (known.length > 0 && field.type !== "other" && field.items?.type !== "other")
            expect([path, value, faultsOf(rules, body)[path]]).toEqual([
              path,
              value,
              expect.any(String),
            ]);
        }
    });
});

test("a field that the body must have is asked for, at its path", () => {
  expect(faultsOf(rulesOf("WorkloadCreate"), { slug: "w", rate_limit: { count: 1 } })).toEqual({
    executor_type: "is required",
    "rate_limit.per_s": "is required",
  });
});

test("every pattern compiles in a browser, and every kind of step has its rules", () => {
  for (const [, , rules] of BODIES)
    for (const { pattern } of Object.values(rules))
      if (pattern !== undefined) expect(new RegExp(pattern, "u")).toBeInstanceOf(RegExp);
  expect(Object.keys(stepRules())).toContain("evaluate");
  expect(stepRules().wait?.timeout_s).toEqual({ type: "number", min: 0.1, max: 3_600 });
});

test("defaults are the schema's", () => {
  const { lease_secs, "backoff.max_s": longest } = rulesOf("WorkloadCreate");
  const parsed = WorkloadCreate.parse({ slug: "w", executor_type: "fleet_fetch" });
  expect(lease_secs.default).toBe(parsed.lease_secs);
  expect(longest.default).toBe(parsed.backoff.max_s);
});
