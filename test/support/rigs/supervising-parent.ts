import { join } from "node:path";
import { runService } from "#hub/program/cli/run-service.ts";
import { systemClock } from "#shared/kit/clock.ts";
import { createLog } from "#shared/kit/log.ts";
import { superviseChild } from "#shared/kit/supervise-child.ts";

/** A process that keeps `service-child.ts` running; its log on standard output tells the child's pid. */
const log = createLog("info", (line) => void process.stdout.write(`${line}\n`));
const code = await runService(
  process,
  log,
  async () => {
    const child = superviseChild({
      name: "service",
      argv: [process.execPath, join(import.meta.dir, "service-child.ts"), ...process.argv.slice(2)],
      env: process.env,
      log,
      clock: systemClock,
    });
    return { stop: () => child.stop(), exited: child.gaveUp };
  },
  false,
);
process.exit(code);
