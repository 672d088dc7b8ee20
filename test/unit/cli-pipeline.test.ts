import { describe, expect, test } from "bun:test";
import { UsageError } from "#hub/program/cli/exit.ts";
import { ownTasks } from "#hub/program/cli/own-tasks.ts";
import { createRunReader } from "#hub/program/cli/runs.ts";
import { inBatches, type PlacedTask, readTaskLines } from "#hub/program/cli/task-lines.ts";
import { barText, drainBar, drainText } from "#hub/program/cli/watch-queue.ts";
import type { Run, RunFilter, WorkloadCalls } from "#shared/client/index.ts";

const encoder = new TextEncoder();

/** The bytes in pieces of `size`, as a slow pipe gives them. */
const streamOf = (bytes: Uint8Array | string, size = 3): ReadableStream<Uint8Array> => {
  const all = typeof bytes === "string" ? encoder.encode(bytes) : bytes;
  let at = 0;
  return new ReadableStream({
    pull: (controller) => {
      if (at >= all.length) return controller.close();
      controller.enqueue(all.slice(at, at + size));
      at += size;
    },
  });
};
const readAll = (text: Uint8Array | string, size?: number): Promise<PlacedTask[]> =>
  Array.fromAsync(readTaskLines(streamOf(text, size), "f"));

describe("the lines of flotilla submit --file", () => {
  test("a line is a key, or a task when it begins with a brace; blank lines count but are left out", async () => {
    const tasks = await readAll('\ufeffa/b é\r\n\n  {"pk":"c","extra":{"n":1}}\n[1]\n"q"');
    expect(tasks.map(({ task, place }) => [place, task])).toEqual([
      ["f:1", { pk: "a/b é" }],
      ["f:3", { pk: "c", extra: { n: 1 } }],
      ["f:4", { pk: "[1]" }],
      ["f:5", { pk: '"q"' }],
    ]);
  });

  for (const [what, text, message] of [
    ["JSON that is cut off", 'a\n{"pk": "b"', "f:2: is not valid JSON"],
    ["JSON without pk", '{"extra": {}}', "f:1: pk: is required"],
    ["a line that is no UTF-8", Uint8Array.from([97, 10, 0xff, 10]), "f:2: is not valid UTF-8"],
  ] as const)
    test(`${what} is refused by its place`, async () => {
      await expect(readAll(text)).rejects.toThrow(UsageError);
      await expect(readAll(text)).rejects.toThrow(message);
    });

  test("a line of more than 8 MiB is refused without being read to its end", async () => {
    let pulled = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        pulled += 1;
        controller.enqueue(new Uint8Array(1024 * 1024).fill(120));
      },
    });
    const reading = Array.fromAsync(readTaskLines(endless, "f"));
    await expect(reading).rejects.toThrow("f:1: is longer than 8388608 bytes");
    expect(pulled).toBeLessThan(15);
  });

  test("batches hold at most so many tasks and about so many bytes", async () => {
    const sizes = async (most: { items: number; bytes: number }) =>
      (
        await Array.fromAsync(inBatches(readTaskLines(streamOf("aaaa\n".repeat(7)), "f"), most))
      ).map((batch) => batch.length);
    expect(await sizes({ items: 3, bytes: 1_000 })).toEqual([3, 3, 1]);
    expect(await sizes({ items: 100, bytes: 8 })).toEqual([2, 2, 2, 1]);
  });
});

test("the bar is full only at the end, and never longer than it is", () => {
  expect(barText(0, 10, 20)).toBe(`${"░".repeat(20)}   0 %`);
  expect(barText(999, 1_000, 20)).toContain(" 99 %");
  expect(barText(3, 3, 20)).toBe(`${"█".repeat(20)} 100 %`);
  expect(barText(0, 0, 20)).toContain("100 %");
});

test("a draining queue says what is done, what is left, its pace and the time that needs", () => {
  const counts = { pending: 5_990, claimed: 10, failed: 2, total: 6_002 };
  expect(drainText(counts, 10_000, 2_000)).toBe(
    "4,000 of 10,000 done, 5,990 pending, 10 claimed, 2 failed, 2,000/s, 3 s left",
  );
  expect(drainText({ pending: 0, claimed: 0, failed: 0, total: 0 }, 0, 0)).toBe(
    "0 of 0 done, 0 pending, 0 claimed, 0 failed",
  );
});

test("on a terminal of 80 columns the pace and the time left are not cut", () => {
  const counts = { pending: 5_990, claimed: 10, failed: 0, total: 6_000 };
  expect(drainBar(counts, 10_000, 2_000, 80)).toBe(
    "████░░░░░░  40 %  4,000/10,000, 2,000/s, 3 s left, 10 running",
  );
  expect(drainBar({ ...counts, failed: 7 }, 10_000, 2_000, 200)).toContain(
    "4,000/10,000, 7 failed",
  );
});

describe("the tasks that submit --wait waits for", () => {
  test("are asked for in parts, those that are done not again, and failed ones still", async () => {
    const states = new Map<string, "pending" | "failed">();
    const asked: number[] = [];
    const workloads = {
      status: async (_slug: string, pks: readonly string[]) => {
        asked.push(pks.length);
        const items = pks.flatMap((pk) => {
          const state = states.get(pk);
          return state === undefined ? [] : [{ pk, state }];
        });
        return { items };
      },
    } as unknown as WorkloadCalls;
    const pks = Array.from({ length: 4_100 }, (_, i) => `k${i}`);
    for (const pk of pks) states.set(pk, "pending");
    const { signal } = new AbortController();
    const count = ownTasks({ workloads, signal }, "w", pks);
    expect(await count()).toEqual({ pending: 4_100, claimed: 0, failed: 0, total: 4_100 });
    for (const pk of pks.slice(2)) states.delete(pk);
    states.set("k1", "failed");
    expect(await count()).toEqual({ pending: 1, claimed: 0, failed: 1, total: 2 });
    // Somebody has reset it.
    states.set("k1", "pending");
    expect(await count()).toEqual({ pending: 2, claimed: 0, failed: 0, total: 2 });
    states.clear();
    expect(await count()).toEqual({ pending: 0, claimed: 0, failed: 0, total: 0 });
    expect(asked).toEqual([2_000, 2_000, 100, 2_000, 2_000, 100, 2, 2]);
    await count();
    expect(asked).toHaveLength(8);
  });
});

describe("the runs that follow", () => {
  const stored: number[] = [];
  const read = async ({ limit = 50, before = Infinity }: RunFilter): Promise<Run[]> =>
    stored
      .filter((run_id) => run_id < before)
      .sort((a, b) => b - a)
      .slice(0, limit)
      .map((run_id) => ({ run_id }) as Run);
  const range = (from: number, to: number) =>
    Array.from({ length: to - from + 1 }, (_, i) => from + i);

  test("each is given once, oldest first, over any number of pages, also one committed late", async () => {
    stored.push(...range(1, 10));
    const next = createRunReader(read, 10);
    const ids = async () => (await next()).map((run) => run.run_id);
    expect(await ids()).toEqual([]);
    stored.push(...range(11, 450).filter((run_id) => run_id !== 400));
    expect(await ids()).toEqual(range(11, 450).filter((run_id) => run_id !== 400));
    stored.push(400, 451);
    expect(await ids()).toEqual([400, 451]);
    expect(await ids()).toEqual([]);
    stored.push(452);
    expect(await ids()).toEqual([452]);
    // Also where its neighbour was the only one of a look.
    stored.push(454);
    expect(await ids()).toEqual([454]);
    stored.push(453);
    expect(await ids()).toEqual([453]);
    expect(await ids()).toEqual([]);
  });
});
