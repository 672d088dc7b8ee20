import { expect, test } from "bun:test";
import { untilTaken } from "#hub/fleet/sessions/until-taken.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";

/** A large answer on its way to its caller: what ends the browser that holds it (rules/one-shot-calls#end-of-a-call). */

/** A source with two chunks, of which the second comes when it is let go. */
function taking() {
  const clock = createFakeClock();
  const leaving = new AbortController();
  const ends: string[] = [];
  let cancelled = 0;
  const second = Promise.withResolvers<void>();
  const chunks = [Promise.resolve(), second.promise];
  const source = new ReadableStream<Uint8Array>({
    pull: async (to) => {
      const next = chunks.shift();
      if (!next) return to.close();
      await next;
      to.enqueue(new Uint8Array([1]));
    },
    cancel: () => {
      cancelled += 1;
    },
  });
  const stream = untilTaken(source, {
    clock,
    signal: leaving.signal,
    most_ms: 120_000,
    end: (reason) => ends.push(reason),
  });
  return { clock, leaving, ends, second, stream, cancelled: () => cancelled };
}

test("the browser stays until all of it was taken, and no timer is left behind", async () => {
  const { clock, ends, second, stream } = taking();
  const reader = stream.getReader();
  expect((await reader.read()).done).toBe(false);
  expect(ends).toEqual([]);
  second.resolve();
  await reader.read();
  expect((await reader.read()).done).toBe(true);
  expect(ends).toEqual(["its answer was taken"]);
  expect(clock.sleepers()).toEqual([]);
});

test("nobody who reads it, or who stops reading, keeps the browser for longer than two minutes", async () => {
  const { clock, ends, stream, cancelled } = taking();
  await clock.advance(119_999);
  expect(ends).toEqual([]);
  await clock.advance(1);
  expect(ends).toEqual(["its answer was not taken in time"]);
  expect(stream.getReader().read()).rejects.toThrow("not taken in time");
  expect(cancelled()).toBe(1);
});

test("a caller that leaves ends it once, whether its stream is cancelled or not", async () => {
  const unread = taking();
  unread.leaving.abort();
  expect(unread.ends).toEqual(["its caller has gone"]);
  expect(unread.clock.sleepers()).toEqual([]);
  expect(unread.cancelled()).toBe(1);
  const read = taking();
  await read.stream.cancel();
  read.leaving.abort();
  await read.clock.advance(120_000);
  expect(read.ends).toEqual(["its caller has gone"]);
});

test("a source that breaks ends it, and its caller sees no whole answer", async () => {
  const { ends, second, stream } = taking();
  const reader = stream.getReader();
  await reader.read();
  second.reject(new Error("the worker has gone"));
  expect(reader.read()).rejects.toThrow("the worker has gone");
  await reader.closed.catch(() => {});
  expect(ends).toEqual(["its answer broke off"]);
});
