import { expect, test } from "bun:test";
import { EXECUTOR_TYPES, EXECUTORS } from "#shared/protocol/executors.ts";
import { WorkloadCreate } from "#shared/protocol/schema/workload.ts";

test("every kind of executor has an example that the API takes (rules/pipeline-workloads#executor-configuration)", () => {
  for (const executor_type of EXECUTOR_TYPES) {
    const { example, takes } = EXECUTORS[executor_type];
    const made = WorkloadCreate.safeParse({ slug: "any", executor_type, executor_config: example });
    expect({ executor_type, error: made.error?.message }).toEqual({
      executor_type,
      error: undefined,
    });
    expect(takes).toEqual(expect.arrayContaining(Object.keys(example)));
  }
});

test("a kind that needs a key of its configuration is refused without, and what it needs it takes", () => {
  for (const executor_type of EXECUTOR_TYPES) {
    const { needs, takes } = EXECUTORS[executor_type];
    expect(takes).toEqual(expect.arrayContaining([...needs]));
    const refused = !WorkloadCreate.safeParse({ slug: "any", executor_type }).success;
    expect({ executor_type, refused }).toEqual({ executor_type, refused: needs.length > 0 });
  }
});
