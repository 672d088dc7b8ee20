import { runService } from "#hub/program/cli/run-service.ts";
import { silentLog } from "#shared/kit/log.ts";

/** A service of nothing, run like the real ones; `exit=N` makes it end by itself with that code. */
const exit = process.argv.find((arg) => arg.startsWith("exit="));
const code = await runService(
  process,
  silentLog,
  async () => ({
    stop: async () => {},
    ...(exit ? { exited: Promise.resolve(Number(exit.slice(5))) } : {}),
  }),
  true,
);
process.exit(code);
