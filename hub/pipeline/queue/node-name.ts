import type { Kv } from "#hub/platform/stores/kv.ts";
import type { Clock } from "#shared/kit/clock.ts";
import type { Log } from "#shared/kit/log.ts";
import { startLoop } from "#shared/kit/loop.ts";
import type { Scope } from "#shared/kit/scope.ts";
import { newToken } from "#shared/protocol/ids.ts";

/**
 * Names under which control processes count; further processes share them. Each name costs a permanent row of counters
 * per workload.
 */
const NAMES = 8;
const BEAT_MS = 30_000;
const EXPIRY_MS = 90_000;

/**
 * A name that no other control process of the database counts under: two that share one wait for each other's rows
 * at every commit. Nothing worse can happen, so no harm is done if the shared store forgets the names.
 */
export async function takeNodeName(
  { kv, clock, log }: { kv: Kv; clock: Clock; log: Log },
  scope: Scope,
): Promise<string> {
  const by = newToken();
  for (let i = 0; i < NAMES; i += 1) {
    const key = `pipeline-node:${i}`;
    if (!(await kv.setIfAbsent(key, { by }, EXPIRY_MS))) continue;
    scope.add(
      "name of the control process",
      key,
      async () => void (await kv.deleteIf(key, { by })),
    );
    scope.add(
      "name of the control process kept",
      startLoop({
        name: "pipeline node",
        everyMs: BEAT_MS,
        clock,
        log,
        pass: async () => void (await kv.setIf(key, { by }, { by }, EXPIRY_MS)),
      }),
      (loop) => loop.stop(),
    );
    return nameOf(i);
  }
  return nameOf(0);
}

const nameOf = (i: number): string => (i === 0 ? "main" : `main~${i}`);
