import { systemClock } from "#shared/kit/clock.ts";
import { createLog } from "#shared/kit/log.ts";
import { startStallWatchdog } from "#worker/program/update/watchdog.ts";

/** Stalls its event loop for `stall_ms` under a watchdog with the given jitter and threshold, 200 ms by default. */
const [stall_ms = 0, jitter_ms = 0, threshold_ms = 200] = process.argv.slice(2).map(Number);
const watchdog = startStallWatchdog({
  threshold_ms,
  jitter_ms,
  clock: systemClock,
  log: createLog("debug", (line) => process.stderr.write(`${line}\n`)),
});
console.log("stalling");
// The beat runs at once and the thread starts beside this loop: no sleep is needed before it.
for (const end = performance.now() + stall_ms; performance.now() < end; );
console.log("back");
await watchdog.stop();
await watchdog.stop();
console.log("stopped");
