import { systemClock } from "#shared/kit/clock.ts";
import { createLog } from "#shared/kit/log.ts";
import { nodeVersion } from "#shared/protocol/version.ts";
import { createLanePool } from "#worker/browser/lanes/pool.ts";
import { loadWorkerConfig } from "#worker/config.ts";
import type { Egress } from "#worker/egress/egress.ts";
import { openGate } from "#worker/egress/gate.ts";
import { socks5 } from "#worker/egress/socks.ts";
import { REAL_PARTS, startWorker } from "#worker/program/start.ts";

/**
 * A worker as a yardstick for what a gate costs, configured as any worker is: `none`, the default, has lanes without a gate,
 * `on-loop` has gates on the event loop that everything else of the worker is on.
 */
const [kind = "none"] = process.argv.slice(2);
const config = loadWorkerConfig(process.env, {});
const log = createLog(config.log_level, (text) => void process.stderr.write(`${text}\n`));

const openOnLoop = async ({ judge, resolve, upstream }: Egress) =>
  openGate({ speaks: socks5, judge, resolve, upstream });

const worker = await startWorker(
  { config, log, clock: systemClock, version: nodeVersion(undefined) },
  {
    ...REAL_PARTS,
    createLanePool: ({ egress, ...deps }) => {
      if (!egress) throw new Error("a worker gives its lanes a way out");
      const openLaneGate = async () => (kind === "on-loop" ? openOnLoop(egress) : null);
      return createLanePool({ ...deps, egress: { ...egress, openLaneGate } });
    },
  },
);
process.once("SIGTERM", () => void worker.stop());
process.exit(await worker.exited);
