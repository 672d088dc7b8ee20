import { expect, test } from "bun:test";
import {
  type Clock,
  DeadlineError,
  setDeadline,
  systemClock,
  withDeadline,
} from "#shared/kit/clock.ts";
import { silentLog } from "#shared/kit/log.ts";
import { createCommandExecutor } from "#worker/tasks/command-executor.ts";
import type { TaskEnd } from "#worker/tasks/executor.ts";

/** Deadlines of the system's clock. */

/** This process runs no timer and reads no answer for so long. */
const standStill = (ms: number) => Bun.sleepSync(ms);

test("an answer that came while the process stood still is in time, whatever its deadline", async () => {
  const answer = Promise.withResolvers<string>();
  const asked = withDeadline("an answer", 20, answer.promise);
  standStill(1_100);
  // Sockets are read after the timers that are due.
  setTimeout(() => answer.resolve("here"), 0);
  expect(await asked).toBe("here");
});

test("no answer is late all the same when the process runs again", async () => {
  const asked = withDeadline("an answer", 20, new Promise(() => {}));
  standStill(1_100);
  expect(await asked.catch((err) => err)).toBeInstanceOf(DeadlineError);
});

test("a deadline that is called off before it is due does nothing, also in its last moment", async () => {
  let acted = 0;
  const stop = setDeadline(300, () => {
    acted += 1;
  });
  standStill(1_400);
  await new Promise((resolve) => setImmediate(resolve));
  stop();
  await withDeadline("nothing", 400, new Promise(() => {})).catch(() => {});
  expect(acted).toBe(0);
});

test("a command's task leaves no sleep running once it has ended", async () => {
  const running = new Set<number>();
  const clock: Clock = {
    ...systemClock,
    sleep: async (ms, signal) => {
      running.add(ms);
      await systemClock.sleep(ms, signal);
      running.delete(ms);
    },
  };
  const executor = createCommandExecutor({
    clock,
    log: silentLog,
    argv: ["true"],
    cwd: "/",
    environment: { PATH: process.env.PATH ?? "" },
    memory_bytes: null,
  });
  const ends: TaskEnd[] = [];
  await executor.run([{ task_id: 1, pk: "a", extra: {}, attempt: 1, max_attempts: 1, epoch: 1 }], {
    timeout_ms: 60_000,
    signal: new AbortController().signal,
    onEnd: (end) => ends.push(end),
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(ends.map(({ outcome }) => outcome.kind)).toEqual(["done"]);
  expect([...running]).toEqual([]);
});
