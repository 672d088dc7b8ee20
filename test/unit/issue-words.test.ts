import { describe, expect, test } from "bun:test";
import { z } from "zod";
import { validationError } from "#hub/platform/http/new-app.ts";
import type { Issue } from "#shared/kit/errors.ts";
import { issueText } from "#shared/kit/issue-text.ts";

const Body = z.strictObject({
  limit: z.coerce.number().int().max(500).optional(),
  count: z.int().min(1).optional(),
  share: z.number().gt(0).lt(1).optional(),
  name: z.string().min(1).max(5).optional(),
  items: z
    .array(z.strictObject({ pk: z.string(), priority: z.int().max(9).optional() }))
    .max(2)
    .optional(),
  kind: z.enum(["a", "b"]).optional(),
  at: z.iso.datetime().optional(),
  flag: z.boolean().optional(),
  api_key: z.string().max(3).optional(),
  own: z.string().regex(/^x/, "must begin with x").optional(),
});

function said(data: unknown): string[] {
  const parsed = Body.safeParse(data);
  if (parsed.success) throw new Error("nothing is wrong");
  const { detail } = validationError(parsed.error.issues, "body", data);
  return typeof detail === "string" ? [detail] : (detail as Issue[]).map(({ msg }) => msg);
}

describe("what is wrong with a value is one sentence with the field, the bound and the value", () => {
  const CASES: [unknown, string][] = [
    [{ limit: "501" }, "limit must be at most 500, not 501"],
    [{ limit: "many" }, "limit must be a number"],
    [{ count: 0 }, "count must be at least 1, not 0"],
    [{ count: 1.5 }, "count must be a whole number, not 1.5"],
    [{ count: "3" }, 'count must be a number, not "3"'],
    [{ share: 1 }, "share must be below 1, not 1"],
    [{ name: "" }, "name must not be empty"],
    [{ name: "too long" }, "name must be at most 5 characters long, not 8"],
    [{ items: [{ pk: "a" }, { pk: "b" }, { pk: "c" }] }, "items must hold at most 2 items, not 3"],
    [{ items: [{ pk: "a", priority: 10 }] }, "items.0.priority must be at most 9, not 10"],
    [{ items: {} }, "items must be a list, not an object"],
    [{ kind: "c" }, 'kind must be one of a, b, not "c"'],
    [{ flag: 1 }, "flag must be true or false, not 1"],
    [
      { at: "tomorrow" },
      'at must be an ISO 8601 time such as 2026-01-01T00:00:00Z, not "tomorrow"',
    ],
    [{ own: "y" }, "own must begin with x"],
    [{ colour: "red" }, "colour is an unknown key"],
  ];
  for (const [data, sentence] of CASES)
    test(sentence, () => expect(said(data)).toEqual([sentence]));

  test("a secret is not shown", () => {
    expect(said({ api_key: "hush-hush" }).join()).not.toContain("hush");
  });

  test("a value that has no JSON is not shown", () => {
    for (const flag of [Symbol("a"), () => {}])
      expect(said({ flag })).toEqual(["flag must be true or false"]);
  });

  test("of several faults all are told, a missing field among them", () => {
    expect(said({ items: [{}, { pk: 7, priority: 10 }] })).toEqual([
      "items.0.pk is required",
      "items.1.pk must be text, not 7",
      "items.1.priority must be at most 9, not 10",
    ]);
    expect(said({ items: [{}] })).toEqual(["body.items.0.pk is required"]);
  });
});

describe("a client says the whole path of the field once", () => {
  const CASES: [(string | number)[], string, string][] = [
    [["options", "scroll"], "options.scroll must be text", "options.scroll must be text"],
    [["options", "scroll"], "scroll must be text", "options.scroll must be text"],
    [["pk"], "tasks.7.pk must not be empty", "pk must not be empty"],
    [["options"], "give either selector, or x and y", "options: give either selector, or x and y"],
    [["croll"], "scroll must be text", "croll: scroll must be text"],
    [[], "the value must be an object", "the value must be an object"],
  ];
  for (const [path, msg, sentence] of CASES)
    test(`${path.join(".")} and “${msg}”`, () => expect(issueText(path, msg)).toBe(sentence));
});
