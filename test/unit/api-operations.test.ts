import { describe, expect, test } from "bun:test";
import { z } from "zod";
import { pathOf } from "#shared/client/operation.ts";
import { NextCursor } from "#shared/protocol/schema/page.ts";
import { namedSchemas } from "../../scripts/operations/named-schemas.ts";
import type { Schema } from "../../scripts/operations/schema.ts";
import { createTypeWriter, type Side } from "../../scripts/operations/type-text.ts";

/** How the types of shared/client/operations.gen.ts are made, and what the transport makes of a path. */

const Named = z.object({ id: z.string() });
const Table = { click: z.strictObject({ selector: z.string() }) };
const NAMES = new Map<unknown, unknown>([
  [Named, { from: "#shared/named.ts", name: "Named", path: "" }],
  [Table.click, { from: "#shared/table.ts", name: "TABLE", path: '["click"]' }],
]) as unknown as Awaited<ReturnType<typeof namedSchemas>>;

const typeOf = (schema: z.ZodType, side: Side = "output"): string =>
  createTypeWriter(NAMES).typeOf(schema as unknown as Schema, side);

describe("the type of a schema is written as TypeScript", () => {
  test.each<[string, z.ZodType, string]>([
    ["a plain one", z.int(), "number"],
    ["one that may be null", z.string().nullable(), "string | null"],
    ["an enum", z.enum(["a", "b"]), '"a" | "b"'],
    ["a literal", z.literal(true), "true"],
    ["a list of alternatives", z.array(z.enum(["a", "b"])), '("a" | "b")[]'],
    ["a pair", z.tuple([z.string(), z.number()]), "[string, number]"],
    ["a table", z.record(z.string(), z.unknown()), "Record<string, unknown>"],
    ["a named one", z.array(Named), "z.output<typeof Named>[]"],
    ["one of a table", Table.click, 'z.output<(typeof TABLE)["click"]>'],
    [
      "an object with anything else",
      z.looseObject({ a: z.string() }),
      "{ a: string; [key: string]: unknown }",
    ],
    ["a key that is no name", z.object({ "a-b": z.string() }), '{ "a-b": string }'],
  ])("%s", (_, schema, type) => expect(typeOf(schema)).toBe(type));

  test("a field with a default may be left out of what is sent, and is in what comes back", () => {
    const schema = z.object({ n: z.int().default(1), m: z.int().optional() });
    expect(typeOf(schema, "input")).toBe("{ n?: number; m?: number }");
    expect(typeOf(schema, "output")).toBe("{ n: number; m?: number }");
  });

  test("what is sent through a function is what the function's schema takes", () => {
    const trimmed = z.preprocess((raw) => raw, z.string());
    expect(typeOf(trimmed, "input")).toBe("string");
    expect(typeOf(z.string().transform(Number).pipe(z.number()), "output")).toBe("number");
    expect(() => typeOf(z.string().transform(Number), "output")).toThrow("use .pipe()");
  });

  test("schemas are named by their exports, those in tables too", async () => {
    const found = await namedSchemas();
    const cursor = found.get(NextCursor.next_cursor as unknown as Schema);
    expect(cursor).toEqual({
      from: "#shared/protocol/schema/page.ts",
      name: "NextCursor",
      path: '["next_cursor"]',
    });
  });
});

describe("the path of an operation", () => {
  test("has what it is given in it, each part encoded", () => {
    const params = { id: "a/b?c", name: "logo 1.png" };
    expect(pathOf("GET /jobs/{id}/assets/{name}", { params })).toBe(
      "/jobs/a%2Fb%3Fc/assets/logo%201.png",
    );
  });

  test("asks for what is set and leaves the rest out", () => {
    const query = { status: undefined, q: "", limit: 5, cursor: "a&b" };
    expect(pathOf("GET /jobs", { query })).toBe("/jobs?limit=5&cursor=a%26b");
    expect(pathOf("GET /jobs")).toBe("/jobs");
  });
});
