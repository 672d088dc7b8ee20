import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { silentLog } from "#shared/kit/log.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import { EXIT_WATCHDOG, startLinkWatchdog } from "#worker/program/update/watchdog.ts";

/** Runs `test/support/fakes/stalled-process.ts` and gives its exit code and output. */
async function runStalled(stall_ms: number, jitter_ms: number, threshold_ms = 200) {
  const script = join(import.meta.dir, "../support/fakes/stalled-process.ts");
  const child = Bun.spawn(
    [process.execPath, script, ...[stall_ms, jitter_ms, threshold_ms].map(String)],
    {
      stdout: "pipe",
      stderr: "pipe",
    },
  );
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { out, err, code };
}

describe("event-loop stall (rules/workers#stall-watchdog)", () => {
  test("a loop that stands still past the threshold ends the process with 70 and a log line", async () => {
    const { out, err, code } = await runStalled(60_000, 50);
    expect(code).toBe(EXIT_WATCHDOG);
    expect(out).toBe("stalling\n");
    const line = JSON.parse(err);
    expect(line).toMatchObject({ level: "error", message: "event loop stalled, worker exits" });
    expect(line.stalled_ms).toBeGreaterThanOrEqual(200);
  }, 180_000);

  test("a loop that comes back during the exit jitter is left alone", async () => {
    const { out, err, code } = await runStalled(500, 600_000);
    expect({ out, err, code }).toEqual({ out: "stalling\nback\nstopped\n", err: "", code: 0 });
  }, 180_000);

  test("a loop that runs is left alone, and stop ends the watching thread", async () => {
    const { out, code } = await runStalled(0, 0, 60_000);
    expect({ out, code }).toEqual({ out: "stalling\nback\nstopped\n", code: 0 });
  }, 180_000);
});

describe("silence of the hub (rules/workers#silence-watchdog)", () => {
  function rig(threshold_ms: number) {
    const clock = createFakeClock();
    const state = { last: clock.now() as number | null, expired: 0 };
    const watchdog = startLinkWatchdog({
      threshold_ms,
      clock,
      log: silentLog,
      lastReceivedAt: () => state.last,
      expire: () => {
        state.expired += 1;
      },
    });
    return { clock, state, watchdog };
  }

  test("600 s without a frame on a standing link expire once, seen in two checks", async () => {
    const { clock, state, watchdog } = rig(600_000);
    await clock.advance(600_000);
    expect(state.expired).toBe(0);
    await clock.advance(30_000);
    expect(state.expired).toBe(1);
    await clock.advance(600_000);
    expect(state.expired).toBe(1);
    await watchdog.stop();
  });

  test("a link that is down is not silence", async () => {
    const { clock, state, watchdog } = rig(600_000);
    state.last = null;
    await clock.advance(7_200_000);
    expect(state.expired).toBe(0);
    await watchdog.stop();
  });

  test("a wall clock that steps forward does not expire while frames come in", async () => {
    const { clock, state, watchdog } = rig(600_000);
    state.last = clock.now() - 86_400_000;
    await clock.advance(30_000);
    state.last = clock.now();
    await clock.advance(60_000);
    expect(state.expired).toBe(0);
    await watchdog.stop();
  });

  test("0 turns it off", async () => {
    const { clock, state, watchdog } = rig(0);
    await clock.advance(86_400_000);
    expect(state.expired).toBe(0);
    expect(clock.sleepers()).toEqual([]);
    await watchdog.stop();
  });
});
