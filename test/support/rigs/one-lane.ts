import { silentLog } from "#shared/kit/log.ts";
import type { Lane as LaneRecord, LaneState } from "#shared/protocol/schema/worker.ts";
import {
  createFakeBrowser,
  createFakeDisplay,
  type FakeBrowser,
  type FakeDisplay,
} from "#test/support/fakes/fake-browser.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import { Lane } from "#worker/browser/lanes/lane.ts";

export const OCCUPANT = { job_id: "job1", session_id: "sess1" };

/** A lane of fake browsers and displays, whose starts may be made to fail. */
export function openLane(options: { headless?: boolean } = {}) {
  const clock = createFakeClock();
  const browsers: FakeBrowser[] = [];
  const displays: FakeDisplay[] = [];
  const states: LaneState[] = [];
  const waiting: { state: LaneState; found(record: LaneRecord): void }[] = [];
  const world = {
    clock,
    browsers,
    displays,
    states,
    /** Starts that fail, counted down. */
    failures: 0,
    /** Called with each browser before the lane gets it. */
    onStart: async (_browser: FakeBrowser) => {},
    /** The next time the lane reports `state`. */
    next: (state: LaneState) => new Promise<LaneRecord>((found) => waiting.push({ state, found })),
  };
  const lane = new Lane({
    lane_idx: 0,
    headless: options.headless ?? false,
    limits: { soft_bytes: 1e9, hard_bytes: 2e9 },
    clock,
    log: silentLog,
    sandbox: "off",
    startBrowser: async (headless, _display, signal, user_data) => {
      await user_data.seed?.("/user-data");
      if (world.failures > 0) {
        world.failures -= 1;
        throw new Error("Chromium did not start: no reason");
      }
      const browser = createFakeBrowser(headless);
      browsers.push(browser);
      await world.onStart(browser);
      if (signal.aborted) {
        await browser.killNow();
        throw new Error("the lane is closing");
      }
      return browser;
    },
    startDisplay: async () => {
      const display = createFakeDisplay();
      displays.push(display);
      return display;
    },
    onChange: (record) => {
      states.push(record.state);
      for (const w of waiting.filter((w) => w.state === record.state)) {
        waiting.splice(waiting.indexOf(w), 1);
        w.found(record);
      }
    },
  });
  return Object.assign(world, { lane });
}
