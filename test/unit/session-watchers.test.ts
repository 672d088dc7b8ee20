import { expect, test } from "bun:test";
import { createWatchers } from "#hub/fleet/sessions/watchers.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";

test("who is at a session is listed until it leaves; who acted within ten seconds drives (rules/viewer#who-is-watching)", async () => {
  const clock = createFakeClock();
  const watchers = createWatchers(clock);
  const ines = watchers.join({ kind: "viewer", name: "ines", mode: "control" });
  const program = watchers.join({ kind: "cdp", name: null, mode: "control" });
  const drives = () => watchers.list().map(({ name, drives: does }) => [name, does]);
  expect(drives()).toEqual([
    ["ines", false],
    [null, false],
  ]);
  ines.acted();
  await clock.advance(9_000);
  expect(drives()[0]).toEqual(["ines", true]);
  await clock.advance(2_000);
  expect(drives()[0]).toEqual(["ines", false]);
  ines.leave();
  ines.leave();
  expect(watchers.list().map(({ kind }) => kind)).toEqual(["cdp"]);
  program.leave();
  expect(watchers.list()).toEqual([]);
});
