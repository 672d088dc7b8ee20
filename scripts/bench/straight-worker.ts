import { systemClock } from "#shared/kit/clock.ts";
import { createLog } from "#shared/kit/log.ts";
import { nodeVersion } from "#shared/protocol/version.ts";
import { createLanePool } from "#worker/browser/lanes/pool.ts";
import { loadWorkerConfig } from "#worker/config.ts";
import { REAL_PARTS, startWorker } from "#worker/program/start.ts";

/** A worker whose lanes have no gate, configured as any worker is: the yardstick for what a gate costs. */
const config = loadWorkerConfig(process.env, {});
const log = createLog(config.log_level, (text) => void process.stderr.write(`${text}\n`));

const worker = await startWorker(
  { config, log, clock: systemClock, version: nodeVersion(undefined) },
  {
    ...REAL_PARTS,
    createLanePool: ({ egress, ...deps }) => {
      if (!egress) throw new Error("a worker gives its lanes a way out");
      return createLanePool({ ...deps, egress: { ...egress, openLaneGate: () => null } });
    },
  },
);
process.once("SIGTERM", () => void worker.stop());
process.exit(await worker.exited);
