import { expect, test } from "bun:test";
import { plainBatch, plainExchange } from "#hub/pipeline/pull/plain.ts";
import { Exchange } from "#shared/protocol/schema/pull.ts";
import { TaskBatch } from "#shared/protocol/schema/queue.ts";

/** Values that a field may be given by mistake, and some it may have. */
const ODD = [
  undefined,
  null,
  true,
  -1,
  0,
  1,
  1.5,
  2 ** 60,
  "",
  "x",
  "\ud800",
  [],
  [1],
  {},
  "é\u0000",
];

const FULL = {
  incarnation: "incarnation-1",
  done: [
    { task_id: 7, epoch: 1, duration_ms: 3, output: { n: [1] }, stdout: "o", truncated: true },
  ],
  failed: [],
  released: [],
  want: { slots: 2, wait_ms: 10, known: { thumbs: "1.2" }, exclude: [] },
};
const BATCH = { items: [{ pk: "a", extra: { n: 1 } }, { pk: "b" }, { pk: "c", extra: null }] };

/** Every object in `value` with each of its fields, and a strange one, made odd. */
function* mutants(value: unknown): Generator<unknown> {
  if (Array.isArray(value)) {
    for (const [i, item] of value.entries())
      for (const odd of mutants(item)) yield value.with(i, odd);
  } else if (typeof value === "object" && value !== null)
    for (const key of [...Object.keys(value), "strange"]) {
      for (const odd of ODD) yield { ...value, [key]: odd };
      for (const odd of mutants((value as Record<string, unknown>)[key]))
        yield { ...value, [key]: odd };
    }
}

const onWire = (value: unknown) => JSON.parse(JSON.stringify(value));

test("what the quick reading of an exchange takes is what its schema makes of it (rules/pipeline-pull#exchange)", () => {
  expect(plainExchange(onWire(FULL))).toEqual(Exchange.parse(FULL));
  let taken = 0;
  for (const mutant of mutants(FULL)) {
    const body = onWire(mutant);
    const plain = plainExchange(body);
    if (plain === null) continue;
    taken += 1;
    expect(plain).toEqual(Exchange.parse(body));
  }
  expect(taken).toBeGreaterThan(50);
});

test("what the quick reading of a batch takes is what its schema makes of it (rules/pipeline-tasks#submit-a-batch)", () => {
  expect(plainBatch(onWire(BATCH))).toEqual(TaskBatch.parse(BATCH));
  let taken = 0;
  for (const mutant of mutants(BATCH)) {
    const body = onWire(mutant);
    const plain = plainBatch(body);
    if (plain === null) continue;
    taken += 1;
    expect(plain).toEqual(TaskBatch.parse(body));
  }
  expect(taken).toBeGreaterThan(5);
  expect(plainBatch({ items: Array(10_001).fill({ pk: "a" }) })).toBeNull();
});
