import { describe, expect, test } from "bun:test";
import { silentLog } from "#shared/kit/log.ts";
import type { Lane as LaneRecord, LaneState } from "#shared/protocol/schema/worker.ts";
import {
  createFakeBrowser,
  createFakeDisplay,
  type FakeBrowser,
  type FakeDisplay,
} from "#test/support/fakes/fake-browser.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import { objectsHeld } from "#test/support/models/heap.ts";
import { Lane, type LaneHold, retryDelay } from "#worker/browser/lanes/lane.ts";

const OCCUPANT = { job_id: "job1", session_id: "sess1" };

function openLane(options: { headless?: boolean } = {}) {
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

describe("states of a lane", () => {
  test("booting → warm → running → resetting → warm, with the job's ids until it is warm", async () => {
    const world = openLane();
    await world.lane.boot();
    const hold = world.lane.hold(OCCUPANT);
    expect(world.lane.record()).toMatchObject({
      state: "running",
      job_id: "job1",
      session_id: "sess1",
    });
    await hold?.release();
    expect(world.states).toEqual(["booting", "warm", "running", "resetting", "warm"]);
    expect(world.lane.record()).toMatchObject({ state: "warm", job_id: null, session_id: null });
    await world.lane.close();
  });

  test("a screen that a viewer changed has its size again before the lane is warm, also when that was heard late (rules/viewer#size-of-the-screen)", async () => {
    const world = openLane();
    await world.lane.boot();
    const [display] = world.displays as [FakeDisplay];
    const small = { width: 900, height: 612 };
    display.size = small;
    // The browser that comes sees the screen as it is to be; then a viewer that is leaving is heard once more.
    const seen: unknown[] = [];
    world.onStart = async () => {
      seen.push(display.size);
      display.size = small;
    };
    await world.lane.hold(OCCUPANT)?.release();
    expect(seen).toEqual([{ width: 1_920, height: 1_080 }]);
    expect(display.size).toEqual({ width: 1_920, height: 1_080 });
    expect(world.displays).toHaveLength(1);
    await world.lane.close();
  });

  test("a display that cannot be given its size again is replaced", async () => {
    const world = openLane();
    await world.lane.boot();
    const [display] = world.displays as [FakeDisplay];
    display.stuck = true;
    await world.lane.hold(OCCUPANT)?.release();
    expect(world.lane.record().state).toBe("warm");
    expect([display.stopped, world.displays.length]).toEqual([true, 2]);
    await world.lane.close();
  });

  test("only one of two holders gets the lane", async () => {
    const { lane } = openLane();
    expect(lane.hold(OCCUPANT)).toBeNull();
    await lane.boot();
    expect(lane.hold(OCCUPANT)).not.toBeNull();
    expect(lane.hold({ job_id: "job2", session_id: "s2" })).toBeNull();
    await lane.close();
    expect(lane.hold(OCCUPANT)).toBeNull();
  });

  test("the display stays and the browser is another one after every job (rules/lanes#new-browser-after-every-use)", async () => {
    const { lane, browsers, displays } = openLane();
    await lane.boot();
    for (const n of [1, 2, 3]) {
      const hold = lane.hold(OCCUPANT);
      expect(await hold?.browser({ headless: false })).toBe(browsers[n - 1] as FakeBrowser);
      await hold?.release();
      expect(browsers[n - 1]?.removed).toBe(true);
    }
    expect(displays).toHaveLength(1);
    await lane.close();
    expect(displays[0]?.stopped).toBe(true);
    expect(browsers.every((b) => b.removed)).toBe(true);
  });

  test("a second release joins the first", async () => {
    const { lane, browsers } = openLane();
    await lane.boot();
    const hold = lane.hold(OCCUPANT);
    await Promise.all([hold?.release(), hold?.release()]);
    await hold?.release();
    expect(browsers).toHaveLength(2);
    await lane.close();
  });

  test("a job can start from the very report that the lane is warm", async () => {
    const { lane, browsers, next } = openLane();
    const warm = next("warm").then(() => lane.hold(OCCUPANT));
    await lane.boot();
    const hold = await warm;
    await hold?.release();
    expect(browsers).toHaveLength(2);
    expect(lane.record().state).toBe("warm");
    await lane.close();
  });
});

describe("profiles of a lane (rules/profiles#profile-of-a-run)", () => {
  test("a seeded browser is a new one, and the next plain one is its own again", async () => {
    const { lane, browsers } = openLane();
    await lane.boot();
    const hold = lane.hold(OCCUPANT) as LaneHold;
    const seeded: string[] = [];
    const seed = async (dir: string) => void seeded.push(dir);
    expect(await hold.browser({ headless: false, seed })).toBe(browsers[1] as FakeBrowser);
    expect(await hold.browser({ headless: false })).toBe(browsers[1] as FakeBrowser);
    expect(seeded).toEqual(["/user-data"]);
    await hold.release();
    expect(browsers).toHaveLength(3);
    await lane.close();
  });

  test("a seed that fails is told at once, and the lane comes back", async () => {
    const { lane } = openLane();
    await lane.boot();
    const hold = lane.hold(OCCUPANT) as LaneHold;
    let calls = 0;
    const seed = async () => {
      calls += 1;
      throw new Error("no such profile");
    };
    expect(hold.browser({ headless: false, seed })).rejects.toThrow("no such profile");
    await hold.release();
    expect(calls).toBe(1);
    expect(lane.record().state).toBe("warm");
    await lane.close();
  });

  test("a restart calls back between two browsers and keeps the hold", async () => {
    const { lane, browsers, states } = openLane();
    await lane.boot();
    const hold = lane.hold(OCCUPANT) as LaneHold;
    await hold.browser({ headless: false });
    const again = await hold.restart(async () => {
      expect(lane.browser()).toBeNull();
    });
    expect(again).toBe(browsers[1] as FakeBrowser);
    expect(browsers[0]?.removed).toBe(false);
    expect(states.filter((s) => s !== "running")).toEqual(["booting", "warm"]);
    await hold.release();
    await lane.close();
  });

  test("a restart brings the browser back when what came between threw", async () => {
    const { lane, browsers } = openLane();
    await lane.boot();
    const hold = lane.hold(OCCUPANT) as LaneHold;
    const broken = hold.restart(async () => {
      throw new Error("the archive was refused");
    });
    await expect(broken).rejects.toThrow("the archive was refused");
    expect(await hold.browser({ headless: false })).toBe(browsers[1] as FakeBrowser);
    await hold.release();
    await lane.close();
  });

  test("a release during a restart ends it and leaves nothing", async () => {
    const { lane, browsers } = openLane();
    await lane.boot();
    const hold = lane.hold(OCCUPANT) as LaneHold;
    const endless = hold.restart(() => new Promise(() => {}));
    endless.catch(() => {});
    await hold.release();
    await expect(endless).rejects.toThrow();
    expect(browsers.map((b) => b.removed)).toEqual([true, false]);
    expect(lane.record().state).toBe("warm");
    await lane.close();
  });
});

describe("failures", () => {
  test("three failures in a row quarantine the lane with the reason; it is tried again and recovers", async () => {
    const world = openLane();
    world.failures = 3;
    const booted = world.lane.boot();
    await world.clock.advance(retryDelay(1));
    await world.clock.advance(retryDelay(2));
    await booted;
    expect(world.lane.record()).toMatchObject({
      state: "quarantined",
      reason: "Chromium did not start: no reason",
    });
    expect(world.lane.hold(OCCUPANT)).toBeNull();
    const warm = world.next("warm");
    await world.clock.advance(retryDelay(3));
    expect(await warm).toMatchObject({ reason: null });
    await world.lane.close();
  });

  test("the display is restarted together with a browser that did not start (rules/lanes#new-display-when-needed)", async () => {
    const world = openLane();
    world.failures = 1;
    const booted = world.lane.boot();
    await world.clock.advance(retryDelay(1));
    await booted;
    expect(world.displays.map((d) => d.stopped)).toEqual([true, false]);
    await world.lane.close();
  });

  test("the pause between tries grows to five minutes and stays there", () => {
    expect([1, 2, 3, 4, 5, 20].map(retryDelay)).toEqual([250, 500, 5_000, 10_000, 20_000, 300_000]);
  });

  test("release resolves for a lane that cannot come back", async () => {
    const world = openLane();
    await world.lane.boot();
    const hold = world.lane.hold(OCCUPANT);
    world.failures = 3;
    const released = hold?.release();
    await world.clock.advance(retryDelay(1));
    await world.clock.advance(retryDelay(2));
    await released;
    expect(world.lane.record()).toMatchObject({ state: "quarantined", job_id: null });
    await world.lane.close();
  });

  test("an idle browser that dies is replaced at once", async () => {
    const world = openLane();
    await world.lane.boot();
    const warm = world.next("warm");
    world.browsers[0]?.crash();
    await warm;
    expect(world.states.slice(2)).toEqual(["recycling", "warm"]);
    expect(world.browsers[0]?.removed).toBe(true);
    await world.lane.close();
  });

  test("a browser that dies under a job leaves the lane to the job", async () => {
    const { lane, browsers } = openLane();
    await lane.boot();
    const hold = lane.hold(OCCUPANT);
    const browser = await hold?.browser({ headless: false });
    browsers[0]?.crash();
    await browser?.exited;
    expect(lane.record().state).toBe("running");
    // Its spool may still be on the way to the hub.
    expect(browsers[0]?.removed).toBe(false);
    await hold?.release();
    expect(lane.record().state).toBe("warm");
    expect(browsers[0]?.removed).toBe(true);
    await lane.close();
  });

  test("a browser that dies before the lane is warm is never offered", async () => {
    const world = openLane();
    world.onStart = async (browser) => {
      if (world.browsers.length === 1) browser.crash();
    };
    const booted = world.lane.boot();
    await world.clock.advance(retryDelay(1));
    await booted;
    const hold = world.lane.hold(OCCUPANT);
    expect(await hold?.browser({ headless: false })).toBe(world.browsers.at(-1) as FakeBrowser);
    expect(world.browsers.length).toBeGreaterThan(1);
    await world.lane.close();
  });

  test("a dead display brings a new one and a new browser, idle or not", async () => {
    const world = openLane();
    await world.lane.boot();
    const warm = world.next("warm");
    world.displays[0]?.crash();
    await warm;
    expect([world.displays.length, world.browsers.length]).toEqual([2, 2]);
    const hold = world.lane.hold(OCCUPANT);
    const browser = await hold?.browser({ headless: false });
    world.displays[1]?.crash();
    await browser?.exited;
    await hold?.release();
    expect([world.displays.length, world.browsers.length]).toEqual([3, 3]);
    await world.lane.close();
  });
});

describe("the browser of a job", () => {
  test("a headless job on a headful lane gets a headless browser, and the lane is headful afterwards", async () => {
    const { lane, browsers } = openLane();
    await lane.boot();
    const hold = lane.hold(OCCUPANT);
    const browser = await hold?.browser({ headless: true });
    expect(browser?.headless).toBe(true);
    expect(lane.record().mode).toBe("headless");
    expect(browsers[0]?.removed).toBe(true);
    await hold?.release();
    expect(lane.record().mode).toBe("headful");
    await lane.close();
  });

  test("on a headless lane everything is headless and no display is started", async () => {
    const { lane, browsers, displays } = openLane({ headless: true });
    await lane.boot();
    const hold = lane.hold(OCCUPANT);
    expect(await hold?.browser({ headless: false })).toBe(browsers[0] as FakeBrowser);
    expect(browsers[0]?.headless).toBe(true);
    expect(displays).toEqual([]);
    await lane.close();
  });

  test("a warm browser that died in the instant of the hold is replaced before the job sees it", async () => {
    const { lane, browsers } = openLane();
    await lane.boot();
    const hold = lane.hold(OCCUPANT);
    browsers[0]?.crash();
    await browsers[0]?.exited;
    expect(await hold?.browser({ headless: false })).toBe(browsers[1] as FakeBrowser);
    await lane.close();
  });

  test("a start that fails is tried once more, then the job gets the error", async () => {
    const world = openLane();
    await world.lane.boot();
    const hold = world.lane.hold(OCCUPANT);
    world.failures = 1;
    expect((await hold?.browser({ headless: true }))?.headless).toBe(true);
    world.failures = 2;
    await expect(hold?.browser({ headless: false })).rejects.toThrow("Chromium did not start");
    await world.lane.close();
  });

  test("a hold that is over gives no browser", async () => {
    const { lane } = openLane();
    await lane.boot();
    const hold = lane.hold(OCCUPANT);
    await hold?.release();
    await expect(hold?.browser({ headless: false })).rejects.toThrow("released");
    await lane.close();
  });

  test("releasing while the job's browser starts leaves exactly one browser", async () => {
    const world = openLane();
    await world.lane.boot();
    const hold = world.lane.hold(OCCUPANT);
    const gate = Promise.withResolvers<void>();
    const starting = Promise.withResolvers<void>();
    world.onStart = async () => {
      starting.resolve();
      await gate.promise;
    };
    const browser = hold?.browser({ headless: true }).catch((e) => e);
    await starting.promise;
    world.onStart = async () => {};
    const released = hold?.release();
    gate.resolve();
    await released;
    expect((await browser) instanceof Error).toBe(true);
    expect(world.browsers.filter((b) => !b.removed)).toHaveLength(1);
    await world.lane.close();
    expect(world.browsers.filter((b) => !b.removed)).toHaveLength(0);
  });
});

describe("closing", () => {
  test("a lane that is still booting ends what it was starting", async () => {
    const world = openLane();
    const starting = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    world.onStart = async () => {
      starting.resolve();
      await gate.promise;
    };
    const booted = world.lane.boot();
    await starting.promise;
    const closed = world.lane.close();
    gate.resolve();
    await Promise.all([booted, closed]);
    expect(world.browsers.every((b) => b.removed)).toBe(true);
    expect(world.displays.every((d) => d.stopped)).toBe(true);
    expect(world.lane.record().state).toBe("dead");
  });

  test("a quarantined lane closes without waiting for its next try", async () => {
    const world = openLane();
    world.failures = 100;
    const booted = world.lane.boot();
    await world.clock.advance(retryDelay(1));
    await world.clock.advance(retryDelay(2));
    await booted;
    await world.lane.close();
    expect(world.clock.sleepers()).toEqual([]);
  });
});

test("a lane keeps nothing of the browsers that it has had", async () => {
  const world = openLane({ headless: true });
  const { lane } = world;
  await lane.boot();
  const after = async (resets: number) => {
    for (let i = 0; i < resets; i += 1) {
      await lane.hold(OCCUPANT)?.release();
      world.browsers.length = 0;
      world.states.length = 0;
    }
    expect(lane.record().state).toBe("warm");
    return objectsHeld();
  };
  const before = await after(1_000);
  // Even one object kept of each would be 2,000.
  expect((await after(2_000)) - before).toBeLessThan(1_000);
  await lane.close();
});
