import { expect, test } from "bun:test";
import { createChanges, topicOf } from "#hub/changes.ts";

test.each([
  ["/jobs", "jobs"],
  ["/jobs/abc/cancel", "jobs"],
  ["/hosts/a.test/recipes", "hosts"],
  ["/api/v1/workloads/a/queue", "v1/workloads"],
  ["/api/v1/workers/w1/heartbeat", "v1/workers"],
  ["/api/v1/workers/w1/exchange", "v1/tasks"],
  ["/api/v1/workers/w1/complete", "v1/tasks"],
  ["/", null],
])("a call of %s changes %p", (path, topic) => {
  expect(topicOf(path)).toBe(topic);
});

test("what changes after a quiet while is told at once, then gathered for a second", async () => {
  const changes = createChanges();
  changes.touch("jobs"); // nobody listens
  changes.called("/jobs");
  const heard: string[][] = [];
  let told = Promise.withResolvers<number>();
  const unlisten = changes.listen((topics) => {
    heard.push(topics);
    told.resolve(performance.now());
  });
  const began = performance.now();
  changes.touch("hosts");
  changes.called("/hosts/a.test/recipes");
  changes.called("/");
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
