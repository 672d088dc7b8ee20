import { describe, expect, test } from "bun:test";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import type { RequestEntry } from "#worker/browser/record/requests.ts";
import { isUntouched, mayStayAway } from "#worker/browser/record/untouched.ts";

const MB = 2 ** 20;

/** An answer to a fetch whose page takes `answer_ms` for each sign of life. */
function open(answer_ms: number, headers: Record<string, string> = {}) {
  const clock = createFakeClock();
  const session = { send: () => clock.sleep(answer_ms) };
  const entry = {
    type: "Fetch",
    received: 0,
    target: { session },
    headers: new Map(
      Object.entries({
        "cache-control": "private, no-store",
        "content-length": `${5 * MB}`,
        ...headers,
      }),
    ),
  } as unknown as RequestEntry;
  const state = { open: true, told: null as boolean | null };
  void isUntouched(entry, clock, () => state.open).then((told) => {
    state.told = told;
  });
  return { clock, entry, state };
}

describe("a body that its page leaves in the network", () => {
  test("is one of a fetch that may not be stored, and that does not arrive whole by itself", () => {
    const may = (headers: Record<string, string>) => mayStayAway(open(1, headers).entry);
    expect(may({})).toBe(true);
    expect(may({ "cache-control": "no-cache" })).toBe(false);
    expect(may({ "content-length": `${2 * MB}` })).toBe(false);
    // Nobody knows how much of it there is.
    expect(may({ "content-encoding": "gzip" })).toBe(false);
  });

  test("is told 3 s after its page answered", async () => {
    const { clock, state } = open(10);
    await clock.advance(3_020);
    expect(state.told).toBeNull();
    await clock.advance(20);
    expect(state.told).toBe(true);
  });

  test("is given ten answers of a page on a busy machine", async () => {
    const { clock, state } = open(1_000);
    await clock.advance(12_000);
    expect(state.told).toBeNull();
    await clock.advance(1_000);
    expect(state.told).toBe(true);
  });

  test("is none when bytes come, when it ends, or while its page is mute", async () => {
    const [read, ended, mute] = [open(10), open(10), open(60_000)];
    await Promise.all([read, ended].map(({ clock }) => clock.advance(1_000)));
    read.entry.received = 1;
    ended.state.open = false;
    for (const { clock } of [read, ended, mute]) await clock.advance(10_000);
    expect([read, ended, mute].map(({ state }) => state.told)).toEqual([false, false, null]);
  });
});
