import { describe, expect, test } from "bun:test";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import { createActivity, STALL_MS } from "#worker/browser/record/activity.ts";
import { createReadQueue } from "#worker/browser/record/read-queue.ts";

describe("network silence (rules/capture#network-silence)", () => {
  const open = () => {
    const clock = createFakeClock();
    const activity = createActivity(clock);
    const abort = new AbortController();
    let done_at: number | null = null;
    const start = clock.monotonic();
    const idle = () =>
      void activity.idle(500, abort.signal).then(() => {
        done_at = clock.monotonic() - start;
      });
    return { clock, activity, abort, idle, done: () => done_at };
  };

  test("is reached idle_seconds after the last request ended", async () => {
    const { clock, activity, idle, done } = open();
    activity.begin("1");
    idle();
    await clock.advance(2_000);
    activity.end("1");
    await clock.advance(499);
    expect(done()).toBeNull();
    await clock.advance(1);
    expect(done()).toBe(2_500);
  });

  test("starts again with every request", async () => {
    const { clock, activity, idle, done } = open();
    idle();
    await clock.advance(400);
    activity.begin("1");
    activity.end("1");
    await clock.advance(400);
    expect(done()).toBeNull();
    await clock.advance(100);
    expect(done()).toBe(900);
  });

  test("counts an open request as noise as long as it makes progress, and gives it up after 20 s without", async () => {
    const { clock, activity, idle, done } = open();
    activity.begin("1");
    idle();
    await clock.advance(15_000);
    activity.progress("1");
    await clock.advance(STALL_MS - 1);
    expect(done()).toBeNull();
    await clock.advance(1);
    expect(done()).toBe(15_000 + STALL_MS);
  });

  test("is measured apart from the wall clock, which may jump either way", async () => {
    const HOUR_MS = 3_600_000;
    const { clock, activity, idle, done } = open();
    activity.begin("1");
    idle();
    await clock.advance(100);
    clock.jump(HOUR_MS);
    await clock.advance(1_900);
    expect(done()).toBeNull();
    activity.end("1");
    clock.jump(-2 * HOUR_MS);
    await clock.advance(500);
    expect(done()).toBe(2_500);
  });

  test("does not wait for streams, nor for a stalled request beside one that ends", async () => {
    const { clock, activity, idle, done } = open();
    activity.begin("stream");
    activity.ignore("stream");
    activity.begin("stalled");
    await clock.advance(STALL_MS);
    activity.begin("1");
    idle();
    await clock.advance(100);
    activity.end("1");
    await clock.advance(500);
    expect(done()).toBe(STALL_MS + 600);
  });

  test("starts again when the page can ask anew: it has loaded, or begun a worker", async () => {
    const { clock, activity, idle, done } = open();
    idle();
    await clock.advance(400);
    activity.touch();
    await clock.advance(499);
    expect(done()).toBeNull();
    await clock.advance(1);
    expect(done()).toBe(900);
  });

  test("goes back to the last progress of a request whose end was found out later", async () => {
    const { clock, activity, idle, done } = open();
    activity.begin("unread");
    idle();
    await clock.advance(100);
    activity.progress("unread");
    await clock.advance(300);
    activity.settle("unread");
    await clock.advance(200);
    expect(done()).toBe(600);
  });

  test("waits again for a request that was held to be over and goes on", async () => {
    const { clock, activity, idle, done } = open();
    activity.begin("untouched");
    activity.settle("untouched");
    idle();
    await clock.advance(400);
    activity.resume("untouched");
    await clock.advance(10_000);
    expect(done()).toBeNull();
    activity.end("untouched");
    await clock.advance(500);
    expect(done()).toBe(10_900);
  });

  test("is decided when every page has answered, and not when one asked for something meanwhile", async () => {
    const { clock, activity, abort } = open();
    const asked: PromiseWithResolvers<void>[] = [];
    const answered = () => {
      const question = Promise.withResolvers<void>();
      asked.push(question);
      return question.promise;
    };
    let over = false;
    void activity.idle(500, abort.signal, answered).then(() => {
      over = true;
    });
    await clock.advance(500);
    expect(asked).toHaveLength(1);
    activity.begin("1");
    activity.end("1");
    asked[0]?.resolve();
    await clock.advance(499);
    expect(over).toBe(false);
    await clock.advance(1);
    expect(asked).toHaveLength(2);
    expect(over).toBe(false);
    asked[1]?.resolve();
    await clock.advance(0);
    expect(over).toBe(true);
  });

  test("ends with the signal while a page is asked", async () => {
    const { clock, activity, abort } = open();
    let over = false;
    const silent = () => new Promise<void>(() => {});
    void activity.idle(500, abort.signal, silent).then(() => {
      over = true;
    });
    await clock.advance(500);
    abort.abort();
    await clock.advance(0);
    expect(over).toBe(true);
  });

  test("ends with the signal", async () => {
    const { clock, activity, abort, idle, done } = open();
    activity.begin("1");
    idle();
    abort.abort();
    await clock.advance(0);
    expect(done()).toBe(0);
  });
});

describe("reads (rules/capture#read-at-the-end)", () => {
  test("at most eight at once, smallest first, none kept back longer than 2 s", async () => {
    const clock = createFakeClock();
    const queue = createReadQueue(clock, () => {});
    const started: string[] = [];
    const ends: (() => void)[] = [];
    const add = (name: string, size: number) =>
      queue.add(size, () => {
        started.push(name);
        return new Promise((resolve) => ends.push(resolve));
      });
    const endOne = async () => {
      ends.shift()?.();
      await clock.advance(0);
    };
    for (let i = 0; i < 8; i += 1) add(`first-${i}`, 1);
    add("large", 100);
    add("middle", 50);
    add("small", 10);
    expect(started).toHaveLength(8);
    await endOne();
    expect(started.at(-1)).toBe("small");
    await clock.advance(2_000);
    add("tiny", 1);
    await endOne();
    expect(started.at(-1)).toBe("large");
    expect(queue.pending).toBe(10);
    while (queue.pending > 0) await endOne();
    await queue.drained();
    expect(started).toHaveLength(12);
  });

  test("a read that throws is told, and the others go on", async () => {
    const errors: unknown[] = [];
    const queue = createReadQueue(createFakeClock(), (err) => errors.push(err));
    queue.add(1, () => Promise.reject(new Error("x")));
    let ran = false;
    queue.add(2, async () => {
      ran = true;
    });
    await queue.drained();
    expect(errors).toHaveLength(1);
    expect(ran).toBe(true);
  });
});
