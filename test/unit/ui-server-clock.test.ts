import { expect, test } from "bun:test";
import { createServerClock } from "#hub/ui/client/lib/server-clock.ts";

const DAY = Date.UTC(2026, 10, 24);
const dateAt = (ms: number) => new Date(Math.floor(ms / 1_000) * 1_000).toUTCString();

/** A browser whose clock is `behind` the server's, and hears answers that take 20 ms each way. */
function browser(behind: number) {
  let server = DAY;
  const clock = createServerClock(() => server - behind);
  return {
    off: () => clock.now() - server,
    hear: (at_ms: number) => {
      server = DAY + at_ms + 40;
      const received = server - behind;
      clock.heard(dateAt(server - 20), received - 40, received);
    },
    clock,
  };
}

test("a browser whose clock is right keeps it, whatever part of a second the answers come in", () => {
  const { hear, off } = browser(0);
  for (const at of [10, 480, 970, 1_940, 2_960]) {
    hear(at);
    expect(off()).toBe(0);
  }
});

test("a browser whose clock is wrong learns the server's from its answers, the better the more there are", () => {
  for (const behind of [3_200, -90_000, 3_600_000]) {
    const { hear, off } = browser(behind);
    expect(off()).toBe(-behind);
    hear(500);
    expect(Math.abs(off())).toBeLessThan(600);
    for (let i = 0; i < 20; i += 1) hear(1_000 + i * 1_047);
    expect(Math.abs(off())).toBeLessThan(60);
  }
});

test("a clock that was set is learned anew, and an answer without a date says nothing", () => {
  const { hear, off, clock } = browser(0);
  hear(100);
  const later = DAY + 200;
  clock.heard(dateAt(later + 7_200_000), later - 40, later);
  expect(off()).toBeGreaterThan(7_198_000);
  clock.heard(null, 0, 0);
  clock.heard("some day", 0, 0);
  hear(3_000);
  expect(off()).toBe(0);
});
