import { HUB_MODES } from "#hub/platform/config.ts";
import { startTestHub } from "#test/support/rigs/hub.ts";

/** Puts the program together in every mode: it throws, naming them, where routes say nothing of who may call them. */

try {
  for (const mode of HUB_MODES) await (await startTestHub({ mode, alone: true })).close();
} catch (err) {
  console.error(err instanceof Error ? err.message : err);
  console.error(
    "Give the route `createRoute({ access: … })`, or `access({ … })` before its handlers.",
  );
  process.exit(1);
}
