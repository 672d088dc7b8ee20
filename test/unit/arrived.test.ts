import { describe, expect, test } from "bun:test";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import { UNREAD_MS, watchArrivals } from "#worker/browser/record/arrived.ts";
import type { RequestEntry } from "#worker/browser/record/requests.ts";

function open() {
  const clock = createFakeClock();
  const ended = new Set<RequestEntry>();
  const checked: string[] = [];
  const arrivals = watchArrivals(
    clock,
    (entry) => !ended.has(entry),
    ({ id }) => checked.push(id),
  );
  const entry = (id: string) => ({ id }) as RequestEntry;
  return { clock, ended, checked, arrivals, entry };
}

describe("responses whose bytes stopped coming", () => {
  test("are looked at once for each pause", async () => {
    const { clock, checked, arrivals, entry } = open();
    const unread = entry("unread");
    arrivals.heard(unread);
    await clock.advance(3 * UNREAD_MS);
    expect(checked).toEqual(["unread"]);
    arrivals.heard(unread);
    await clock.advance(3 * UNREAD_MS);
    expect(checked).toEqual(["unread", "unread"]);
    expect(clock.sleepers()).toEqual([]);
  });

  test("are left alone while bytes come, and when they ended", async () => {
    const { clock, checked, ended, arrivals, entry } = open();
    const [running, over] = [entry("running"), entry("over")];
    arrivals.heard(over);
    ended.add(over);
    for (let i = 0; i < 10; i += 1) {
      arrivals.heard(running);
      await clock.advance(UNREAD_MS - 1);
    }
    expect(checked).toEqual([]);
  });
});
