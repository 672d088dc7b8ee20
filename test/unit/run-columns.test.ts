import { expect, test } from "bun:test";
import * as SQL from "#hub/platform/db/queue/postgres-statements.ts";
import { columnsOf, REPORTED_COLUMNS, storedValue } from "#hub/platform/db/queue/run-columns.ts";

test("every column that a report fills is written by the statements of its ends, and by no other (rules/pipeline-runs#fields-of-a-run)", () => {
  const written = (sql: string) => /insert into runs \([^)]*duration_ms,([^)]*)\)/.exec(sql)?.[1];
  const listed = (names?: string) => names?.split(",").map((name) => name.trim());
  expect(listed(written(SQL.COMPLETE))).toEqual([...columnsOf("success")]);
  expect(listed(written(SQL.GIVE_BACK))).toEqual([...columnsOf("failure")]);
  const either = new Set<string>([...columnsOf("success"), ...columnsOf("failure")]);
  expect([...either].sort()).toEqual(Object.keys(REPORTED_COLUMNS).sort());
  expect(new Set<string>(columnsOf("both"))).toEqual(either);
});

test("what a report leaves out is null, and a flag false", () => {
  expect(storedValue("output", { output: '{"a":1}' })).toBe('{"a":1}');
  expect(storedValue("error", {})).toBeNull();
  expect(storedValue("truncated", {})).toBe(false);
});
