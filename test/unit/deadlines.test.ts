import { expect, test } from "bun:test";
import { DeadlineError, setDeadline, withDeadline } from "#shared/kit/clock.ts";

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
