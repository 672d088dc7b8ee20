import { expect, test } from "bun:test";
import { createChanges } from "#hub/platform/changes.ts";

test("what changes after a quiet while is told at once, then gathered for a second", async () => {
  const changes = createChanges();
  changes.touch("jobs"); // nobody listens
  const heard: string[][] = [];
  let told = Promise.withResolvers<number>();
  const unlisten = changes.listen((topics) => {
    heard.push(topics);
    told.resolve(performance.now());
  });
  const began = performance.now();
  changes.touch("hosts");
  changes.touch("hosts");
  const first = await told.promise;
  told = Promise.withResolvers();
  changes.touch("jobs");
  changes.touch("workers");
  const second = await told.promise;
  unlisten();
  changes.touch("jobs");
  expect(heard).toEqual([["hosts"], ["jobs", "workers"]]);
  expect(first - began).toBeLessThan(500);
  expect(second - first).toBeGreaterThan(900);
});
