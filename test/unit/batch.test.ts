import { expect, test } from "bun:test";
import { createBatcher } from "#hub/platform/db/batch.ts";

const batches: string[][] = [];
const fresh = () => {
  batches.length = 0;
};
const doubled = (text: string) => `${text}${text}`;
const many = async (inputs: string[]) => {
  batches.push(inputs);
  return inputs.map(doubled);
};
const one = async (input: string) => {
  batches.push([input]);
  return doubled(input);
};
const splits = () => false;

test("calls of one turn are one statement, and each gets its own outcome", async () => {
  fresh();
  const call = createBatcher({ many, one, splits });
  expect(await Promise.all(["a", "b", "c"].map(call))).toEqual(["aa", "bb", "cc"]);
  expect(batches).toEqual([["a", "b", "c"]]);
});

test("a call that is alone is done by the statement for one", async () => {
  const call = createBatcher({ one, splits, many: () => Promise.reject(new Error("not asked")) });
  expect(await call("a")).toBe("aa");
});

test("two of one key are never in one batch, and keep their order", async () => {
  fresh();
  const call = createBatcher({ many, one, splits, key: (text: string) => text.slice(0, 1) });
  await Promise.all(["a1", "b1", "a2"].map(call));
  expect(batches).toEqual([["a1", "b1"], ["a2"]]);
});

test("what is asked while a statement runs waits for it and is one statement again", async () => {
  fresh();
  const gate = Promise.withResolvers<void>();
  const started = Promise.withResolvers<void>();
  const call = createBatcher({
    one,
    splits,
    many: async (inputs: string[]) => {
      started.resolve();
      if (inputs.includes("a")) await gate.promise;
      return many(inputs);
    },
  });
  const first = Promise.all([call("a"), call("b")]);
  await started.promise;
  const second = Promise.all([call("c"), call("d")]);
  gate.resolve();
  await Promise.all([first, second]);
  expect(batches).toEqual([
    ["a", "b"],
    ["c", "d"],
  ]);
});

test("a batch that waits for somebody else's lock does not hold up the next forever", async () => {
  const gate = Promise.withResolvers<void>();
  const started = Promise.withResolvers<void>();
  const call = createBatcher({
    one,
    splits,
    many: async (inputs: string[]) => {
      started.resolve();
      if (inputs.includes("a")) await gate.promise;
      return inputs.map(doubled);
    },
  });
  const first = Promise.all([call("a"), call("b")]);
  await started.promise;
  expect(await call("c")).toBe("cc");
  gate.resolve();
  expect(await first).toEqual(["aa", "bb"]);
});

test("when one of a batch is at fault, each is done alone and only that one fails", async () => {
  const call = createBatcher({
    splits: () => true,
    many: () => Promise.reject(new Error("one of them")),
    one: async (input: string) => {
      if (input === "bad") throw new Error("that one");
      return doubled(input);
    },
  });
  const outcomes = await Promise.allSettled(["a", "bad", "b"].map(call));
  expect(outcomes.map((o) => (o.status === "fulfilled" ? o.value : o.reason.message))).toEqual([
    "aa",
    "that one",
    "bb",
  ]);
});

test("when the database is away all of a batch fail, and none is tried again", async () => {
  fresh();
  const call = createBatcher({ one, splits, many: () => Promise.reject(new Error("away")) });
  const outcomes = await Promise.allSettled(["a", "b"].map(call));
  expect(outcomes.map((o) => o.status)).toEqual(["rejected", "rejected"]);
  expect(batches).toEqual([]);
});
