import { describe, expect, test } from "bun:test";
import type { FakeBrowser, FakeDisplay } from "#test/support/fakes/fake-browser.ts";
import { objectsHeld } from "#test/support/models/heap.ts";
import { OCCUPANT, openLane } from "#test/support/rigs/one-lane.ts";
import { type LaneHold, retryDelay } from "#worker/browser/lanes/lane.ts";

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
