import { systemClock } from "#shared/kit/clock.ts";
import { createLog } from "#shared/kit/log.ts";
import { createLanePool } from "#worker/browser/lanes/pool.ts";
import { loadWorkerConfig } from "#worker/config.ts";

/** Owns a lane pool as its own process, says `up` or the error's name and message, and stays until it is killed. */
const log = createLog("error", (line) => process.stderr.write(`${line}\n`));
try {
  await createLanePool({ config: loadWorkerConfig(process.env, {}), log, clock: systemClock });
  process.stdout.write("up\n");
  await new Promise(() => setTimeout(() => {}, 2 ** 30));
} catch (err) {
  process.stdout.write(`${err instanceof Error ? `${err.name}: ${err.message}` : err}\n`);
}
