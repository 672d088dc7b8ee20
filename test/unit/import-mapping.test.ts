import { describe, expect, test } from "bun:test";
import { mappingFor } from "#hub/pipeline/import/mapping.ts";
import { rowsOf } from "#hub/pipeline/import/rows.ts";
import { linesOf, textOf } from "#hub/pipeline/import/text.ts";
import { AppError } from "#shared/kit/errors.ts";
import type { ImportFormat } from "#shared/protocol/schema/task-import.ts";

/** How records of a file become tasks (rules/pipeline-import#csv, rules/pipeline-import#jsonl). */

async function* pieces(text: string, size: number): AsyncGenerator<string> {
  for (let at = 0; at < text.length; at += size) yield text.slice(at, at + size);
}
async function* chunks(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}
const read = async (format: ImportFormat, text: string, size = 7) => {
  const found = await rowsOf(format, pieces(text, size));
  const rows = await all(found.rows);
  return { columns: found.columns, rows };
};

describe("the text of a body", () => {
  test("is whole wherever its characters are cut, without its byte order mark", async () => {
    const text = "größe,😀\n";
    const bytes = new TextEncoder().encode(`\ufeff${text}`);
    for (const size of [1, 2, 3, 5, 100])
      expect((await all(textOf(chunks(bytes, size)))).join("")).toBe(text);
  });

  test("that ends within a character is no UTF-8", async () => {
    const bytes = new TextEncoder().encode("ä").subarray(0, 1);
    await expect(all(textOf(chunks(bytes, 1)))).rejects.toThrow("is not UTF-8");
  });

  test("has lines with both ends, the last with none", async () => {
    for (const size of [1, 2, 100])
      expect(await all(linesOf(pieces("a\r\nb\n\nc", size)))).toEqual(["a", "b", "", "c"]);
    expect(await all(linesOf(pieces("", 1)))).toEqual([]);
  });
});

describe("records", () => {
  test("of CSV are the same wherever the text is cut", async () => {
    const text = 'a;"b;c";d\n1;"x\n""y""";2\n\n3;4;5\n';
    for (const size of [1, 3, 1_000]) {
      const { columns, rows } = await read("csv", text, size);
      expect(columns).toEqual(["a", "b;c", "d"]);
      expect(rows).toMatchObject([
        { line: 2, value: { a: "1", "b;c": 'x\n"y"', d: "2" } },
        { value: { a: "3", "b;c": "4", d: "5" } },
      ]);
    }
  });

  test("of a file with a header alone, or nothing, are none", async () => {
    expect(await read("csv", "a,b\n")).toEqual({ columns: ["a", "b"], rows: [] });
    expect(await read("csv", "a,b")).toEqual({ columns: ["a", "b"], rows: [] });
    expect(await read("csv", "")).toEqual({ columns: [], rows: [] });
    expect(await read("jsonl", "\n \n")).toEqual({ columns: [], rows: [] });
  });

  test("of JSON lines tell the fields of the first ones, and go on after a fault", async () => {
    const { columns, rows } = await read("jsonl", '{"a":1}\nnull\n"k"\n{"b":2,"a":3}');
    expect(columns).toEqual(["a", "pk", "b"]);
    expect(rows).toEqual([
      { line: 1, value: { a: 1 } },
      { line: 2, error: "must be a JSON object, or a string that is the task's key" },
      { line: 3, value: { pk: "k" } },
      { line: 4, value: { b: 2, a: 3 } },
    ]);
  });
});

describe("a mapping", () => {
  const plain = { key: undefined, columns: undefined, typed: false };

  test("of CSV takes pk, or the first column, as the key", () => {
    expect(mappingFor("csv", ["id", "pk"], plain).key).toBe("pk");
    expect(mappingFor("csv", ["id", "url"], plain).key).toBe("id");
    const { task } = mappingFor("csv", ["id", "n"], plain);
    expect(task({ id: "a", n: "1" })).toEqual({ task: { pk: "a", extra: { n: "1" } } });
    expect(task({ id: "", n: "1" })).toEqual({ error: "id, its key, is empty" });
  });

  test("makes values of cells that are JSON scalars, and of no others", () => {
    const { task } = mappingFor("csv", ["id", "v"], { ...plain, typed: true });
    const cellOf = (v: string) => {
      const made = task({ id: "a", v });
      return "task" in made ? made.task.extra?.v : made.error;
    };
    expect(["0", "-1.5e3", "true", "null"].map(cellOf)).toEqual([0, -1_500, true, null]);
    for (const text of ["007", "1,5", "+1", "0x10", "True", "NaN", "", " 1", "[1]", '"a"'])
      expect(cellOf(text)).toBe(text);
  });

  test("gives columns other names, in a list and as an object", () => {
    const value = { id: "a", "b,c": "1", d: "2" };
    const listed = mappingFor("csv", Object.keys(value), { ...plain, columns: " d = e , id " });
    expect(listed.task(value)).toEqual({ task: { pk: "a", extra: { e: "2", id: "a" } } });
    const named = mappingFor("csv", Object.keys(value), { ...plain, columns: '{"b,c": "x"}' });
    expect(named.task(value)).toEqual({ task: { pk: "a", extra: { x: "1" } } });
    for (const columns of ["{}x", '{"d": 1}', "nope", '{"nope": "a"}'])
      expect(() => mappingFor("csv", ["id", "d"], { ...plain, columns })).toThrow(AppError);
  });

  test("of JSON lines leaves tasks as they are, and takes numbers as keys", () => {
    const tasks = mappingFor("jsonl", [], plain);
    expect(tasks.key).toBeNull();
    expect(tasks.task({ pk: "a", priority: 3 })).toEqual({ task: { pk: "a", priority: 3 } });
    expect(tasks.task({ pk: 1 })).toMatchObject({ error: expect.stringContaining("pk: ") });
    const keyed = mappingFor("jsonl", [], { ...plain, key: "id" });
    expect(keyed.task({ id: 5, deep: [1] })).toEqual({ task: { pk: "5", extra: { deep: [1] } } });
    expect(keyed.task({ other: 1 })).toEqual({ error: "id, its key, is empty" });
    const some = mappingFor("jsonl", [], { ...plain, columns: "b" });
    expect(some.task({ pk: "k", a: 1, b: 2 })).toEqual({ task: { pk: "k", extra: { b: 2 } } });
  });
});
