import { expect, test } from "bun:test";
import { openCdpPipe } from "#test/support/fakes/cdp-pipe.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import { watchBlankWindows } from "#worker/browser/record/blank-windows.ts";

test("requests of every kind stay held for 2 s after a window was opened, so that those of the next one are", async () => {
  const { root } = openCdpPipe(() => {}).connection;
  const clock = createFakeClock();
  const held: boolean[] = [];
  const blank = watchBlankWindows({
    root,
    clock,
    bodies: {
      pause: { type: "any", stage: "Response", takes: () => false },
      follow: () => {},
      take: () => null,
      finish: () => [],
    },
    windows: {
      pause: { type: "Document", stage: "Request", takes: () => false },
      watch: () => {},
      allSeen: async () => {},
      isUnseen: () => false,
    },
    stops: false,
  });
  blank.start({ holdAll: (on) => held.push(on) });
  blank.watch({ session: root, type: "page" });
  const open = () => root.emit("Page.windowOpen", {});
  open();
  await clock.advance(1_500);
  open();
  await clock.advance(1_500);
  expect(held).toEqual([true]);
  await clock.advance(500);
  expect(held).toEqual([true, false]);
});
