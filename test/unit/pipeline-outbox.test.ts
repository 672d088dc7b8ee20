import { describe, expect, test } from "bun:test";
import { createOutbox } from "#worker/tasks/outbox.ts";

const report = (task_id: number) => ({ task_id, epoch: 1, stdout: "", stderr: "" });
const ids = (items: { task_id: number }[]) => items.map(({ task_id }) => task_id);

describe("reports on their way to the control plane (rules/pipeline-pull#reports-that-come-again)", () => {
  test("one call carries no more items and bytes than it may, oldest first", () => {
    const outbox = createOutbox({ max_items: 3, max_bytes: 100 });
    for (const id of [1, 2, 3, 4]) outbox.add("done", "w", report(id), 10);
    outbox.add("done", "w", report(5), 99);
    outbox.add("failed", "w", report(6), 5_000);
    expect(ids(outbox.take().body.done)).toEqual([1, 2, 3]);
    expect(ids(outbox.take().body.done)).toEqual([4]);
    expect(ids(outbox.take().body.done)).toEqual([5]);
    expect(ids(outbox.take().body.failed)).toEqual([6]);
    expect(outbox.size).toBe(0);
  });

  test("what was not answered is sent again, before what came later", () => {
    const outbox = createOutbox();
    outbox.add("done", "w", report(1));
    const sending = outbox.take();
    outbox.add("released", "w", report(2));
    outbox.putBack(sending);
    const again = outbox.take();
    expect([ids(again.body.done), ids(again.body.released)]).toEqual([[1], [2]]);
  });

  test("a report that is refused is found by halves and told as a failure; its neighbours arrive", () => {
    const outbox = createOutbox();
    for (let id = 1; id <= 100; id += 1) outbox.add("done", "w", report(id));
    const arrived: number[] = [];
    let refused: Record<string, unknown> | undefined;
    let calls = 0;
    while (outbox.size > 0) {
      calls += 1;
      const sending = outbox.take();
      if (sending.body.done.some(({ task_id }) => task_id === 42)) {
        expect(outbox.refused(sending, "output: too odd")).toBeNull();
        continue;
      }
      outbox.sent();
      arrived.push(...ids(sending.body.done));
      refused = sending.body.failed.find(({ task_id }) => task_id === 42) ?? refused;
    }
    expect(arrived.sort((a, b) => a - b)).toEqual(
      Array.from({ length: 100 }, (_, i) => i + 1).filter((id) => id !== 42),
    );
    expect(refused).toMatchObject({
      epoch: 1,
      workload: "w",
      outcome: "error",
      error: "the report of this run was refused: output: too odd",
    });
    expect(calls).toBeLessThan(30);
  });

  test("a refusal of even that is given up, so that it cannot stand in the way forever", () => {
    const outbox = createOutbox();
    outbox.add("done", "w", report(7));
    expect(outbox.refused(outbox.take(), "no")).toBeNull();
    expect(outbox.refused(outbox.take(), "no")?.item.task_id).toBe(7);
    expect(outbox.size).toBe(0);
  });
});
