import { tmpdir } from "node:os";
import { join } from "node:path";
import { runScript } from "#hub/fleet/runner/run-script.ts";
import { systemClock } from "#shared/kit/clock.ts";
import { startTestHub } from "../rigs/hub.ts";
import { reply } from "../rigs/script-rig.ts";

/**
 * A hub in a process of its own that runs what is posted to its second address, in its own event loop. Prints
 * `{hub, run, data_dir, pid}`. Started by `sandbox-escape.test.ts`, also as a user without rights.
 */
const hub = await startTestHub({
  alone: true,
  env: { SVC_DATA_DIR: join(tmpdir(), "data"), SVC_SANDBOX: process.env.ESCAPE_SANDBOX },
});
const { config, log } = hub.ctx;
let saved = 0;

const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  idleTimeout: 0,
  fetch: async (request) => {
    const {
      code,
      timeout_ms = 120_000,
      goal = null,
    } = (await request.json()) as {
      code: string;
      timeout_ms?: number;
      goal?: string | null;
    };
    saved = 0;
    const outcome = await runScript(
      { clock: systemClock, log, config },
      {
        job_id: "escape",
        attempt: 1,
        code,
        timeout_ms,
        job: { url: hub.url, goal },
        signal: request.signal,
        door: {
          act: async (action) => reply(action),
          save: async (name, _mime, body) => {
            saved += body.length;
            return { name, size: body.length };
          },
          log: async () => {},
        },
      },
    );
    return Response.json({ ...outcome, saved, rss: process.memoryUsage.rss() });
  },
});
process.stdout.write(
  `${JSON.stringify({ hub: hub.url, run: server.url.href, data_dir: config.data_dir, pid: process.pid })}\n`,
);
process.on("SIGTERM", async () => {
  await server.stop(true);
  await hub.close();
  process.exit(0);
});
