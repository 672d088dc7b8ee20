import { describe, expect, test } from "bun:test";
import { createFakeBrowser, createFakeDisplay } from "#test/support/fakes/fake-browser.ts";
import { newWatchMemory, type Watched, watchOnce } from "#worker/browser/lanes/watch.ts";

const LIMITS = { soft_bytes: 1e12, hard_bytes: 2e12 };
const GREET_PASSES = 6;

function openWatched(options: { pid?: number; idle?: boolean } = {}) {
  const browser = Object.assign(createFakeBrowser(false), options.pid ? { pid: options.pid } : {});
  const display = createFakeDisplay();
  const acts: string[] = [];
  const lane: Watched = {
    browser: () => browser,
    display: () => display,
    isIdle: () => options.idle ?? true,
    endBrowser: async (reason) => void acts.push(`browser: ${reason}`),
    endDisplay: async (reason) => void acts.push(`display: ${reason}`),
    recycle: (reason) => void acts.push(`recycle: ${reason}`),
  };
  return { lane, browser, display, acts, memory: newWatchMemory() };
}

/** A process that has memory to measure, alone in its session. */
async function startHog() {
  const child = Bun.spawn(["sh", "-c", "echo up; read line"], {
    detached: true,
    stdin: "pipe",
    stdout: "pipe",
  });
  await child.stdout.getReader().read();
  const stop = async () => {
    child.kill("SIGKILL");
    await child.exited;
  };
  return { pid: child.pid, stop };
}

describe("watch of a lane", () => {
  test("a healthy lane is left alone", async () => {
    const { lane, acts, memory } = openWatched();
    for (let i = 0; i < 12; i += 1) await watchOnce(lane, LIMITS, memory);
    expect(acts).toEqual([]);
  });

  test("a browser that is busy sending is not ended, however late its answers are", async () => {
    const { lane, browser, acts, memory } = openWatched();
    browser.answers = false;
    browser.onPing = () => {
      browser.connection.heard += 1;
    };
    for (let i = 0; i < 12; i += 1) await watchOnce(lane, LIMITS, memory);
    expect(acts).toEqual([]);
    browser.onPing = () => {};
    for (let i = 0; i < 3; i += 1) await watchOnce(lane, LIMITS, memory);
    expect(acts).toEqual(["browser: was silent for 3 pings of 5 s"]);
  });

  test("three missed pings in a row end the browser; two do not", async () => {
    const { lane, browser, acts, memory } = openWatched();
    browser.answers = false;
    await watchOnce(lane, LIMITS, memory);
    await watchOnce(lane, LIMITS, memory);
    expect(acts).toEqual([]);
    browser.answers = true;
    await watchOnce(lane, LIMITS, memory);
    browser.answers = false;
    for (let i = 0; i < 3; i += 1) await watchOnce(lane, LIMITS, memory);
    expect(acts).toEqual(["browser: was silent for 3 pings of 5 s"]);
  });

  test("misses of one browser are not held against the next", async () => {
    const { lane, browser, acts, memory } = openWatched();
    browser.answers = false;
    await watchOnce(lane, LIMITS, memory);
    await watchOnce(lane, LIMITS, memory);
    const next = createFakeBrowser(false);
    next.answers = false;
    lane.browser = () => next;
    await watchOnce(lane, LIMITS, memory);
    expect(acts).toEqual([]);
  });

  test("a display that does not greet is ended", async () => {
    const { lane, display, acts, memory } = openWatched();
    display.greets = false;
    for (let i = 0; i < GREET_PASSES; i += 1) await watchOnce(lane, LIMITS, memory);
    expect(acts).toEqual(["display: VNC greeting timed out"]);
  });

  test("memory above the hard cap ends the browser, in a job too", async () => {
    const hog = await startHog();
    const { lane, acts, memory } = openWatched({ pid: hog.pid, idle: false });
    await watchOnce(lane, { soft_bytes: 1, hard_bytes: 2 }, memory);
    await hog.stop();
    expect(acts).toHaveLength(1);
    expect(acts[0]).toMatch(/^browser: used \d+ MiB, above SVC_LANE_HARD_BYTES/);
  });

  test("memory above the soft cap replaces an idle browser and leaves a job alone", async () => {
    const hog = await startHog();
    const limits = { soft_bytes: 1, hard_bytes: 1e12 };
    const idle = openWatched({ pid: hog.pid });
    await watchOnce(idle.lane, limits, idle.memory);
    const busy = openWatched({ pid: hog.pid, idle: false });
    await watchOnce(busy.lane, limits, busy.memory);
    await hog.stop();
    expect(idle.acts[0]).toMatch(/^recycle: .*SVC_LANE_SOFT_BYTES/);
    expect(busy.acts).toEqual([]);
  });

  test("a lane between two browsers has nothing to judge", async () => {
    const { lane, acts, memory } = openWatched();
    lane.browser = () => null;
    lane.display = () => null;
    for (let i = 0; i < GREET_PASSES; i += 1) await watchOnce(lane, LIMITS, memory);
    expect(acts).toEqual([]);
  });
});
