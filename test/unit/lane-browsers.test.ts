import { describe, expect, test } from "bun:test";
import type { FakeBrowser } from "#test/support/fakes/fake-browser.ts";
import { OCCUPANT, openLane } from "#test/support/rigs/one-lane.ts";
import { retryDelay } from "#worker/browser/lanes/lane.ts";

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
