import { expect, test } from "bun:test";
import { silentLog } from "#shared/kit/log.ts";
import type { WorkloadSettings } from "#shared/protocol/schema/pull.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import { createExecutorPool } from "#worker/tasks/executor-pool.ts";

const settings = (slug: string, revision = "1") => ({ slug, revision }) as WorkloadSettings;

function pool(most: number) {
  const closed: string[] = [];
  const clock = createFakeClock();
  let made = 0;
  return {
    clock,
    closed,
    pool: createExecutorPool({
      most,
      clock,
      log: silentLog,
      create: async ({ slug, revision }) => {
        const name = `${slug}@${revision}#${++made}`;
        return {
          run: async () => {},
          load: async () => {},
          close: async () => void closed.push(name),
        };
      },
    }),
  };
}

test("a workload gets its warm executor back; other settings get a new one, and the oldest goes", async () => {
  const { pool: executors, closed } = pool(2);
  const a = await executors.take(settings("a"));
  await executors.give(settings("a"), a);
  expect(await executors.take(settings("a"))).toBe(a);
  await executors.give(settings("a"), a);
  const changed = await executors.take(settings("a", "2"));
  expect(changed).not.toBe(a);
  const b = await executors.take(settings("b"));
  await executors.give(settings("a", "2"), changed);
  await executors.give(settings("b"), b);
  expect(closed).toEqual(["a@1#1"]);
  await executors.close();
  expect(closed).toEqual(["a@1#1", "a@2#2", "b@1#3"]);
});

test("an executor that was idle for ten minutes is closed", async () => {
  const { pool: executors, closed, clock } = pool(2);
  await executors.give(settings("a"), await executors.take(settings("a")));
  await clock.advance(9 * 60_000);
  expect(closed).toEqual([]);
  await clock.advance(2 * 60_000);
  expect(closed).toEqual(["a@1#1"]);
  await executors.close();
});
