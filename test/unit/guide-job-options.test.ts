import { expect, test } from "bun:test";
import { join } from "node:path";
import { JobOptions } from "#shared/protocol/schema/job.ts";

const PAGE = join(import.meta.dir, "../../hub/guide/rules/job-options.md");

test("the rules name every option of a job, and no other (rules/job-options#the-options)", async () => {
  const text = await Bun.file(PAGE).text();
  const named = [...text.matchAll(/^\| `([a-z_]+)` +\|/gm)].map(([, name]) => name);
  expect(named.sort()).toEqual(Object.keys(JobOptions.parse({})).sort());
});
