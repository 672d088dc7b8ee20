import type { FreedPlaces } from "#hub/platform/db/queue/queue-store.ts";
import type { Db } from "#hub/platform/db/storage.ts";
import type { SharedStores } from "#hub/platform/stores/open-shared.ts";
import type { Clock } from "#shared/kit/clock.ts";
import type { Log } from "#shared/kit/log.ts";
import { addLoop } from "#shared/kit/loop.ts";
import type { Scope } from "#shared/kit/scope.ts";
import type { Pipeline } from "./context.ts";
import { newTallies } from "./metrics/queue-tallies.ts";
import { startPlugins } from "./plugins/registry.ts";
import { takeNodeName } from "./queue/node-name.ts";
import { createRateWindows } from "./queue/rate-windows.ts";
import { createReadyHints } from "./queue/ready-hints.ts";
import { sweepOnce } from "./queue/sweep.ts";
import { createTurnQueue } from "./queue/turn.ts";
import { lookAtPullersOnce, startWakes } from "./queue/wakes.ts";
import { createWorkloadCache } from "./workloads/workload-cache.ts";

export interface PipelineDeps {
  db: Db;
  clock: Clock;
  log: Log;
  plugins_dir: string;
  /** Holds the plugins that the program brings along. */
  bundled_plugins_dir: string;
  shared: Pick<SharedStores, "kv" | "pubsub">;
  random: () => number;
  /** Epoch ms for leases; by default a clock that does not follow jumps of the wall clock. */
  now?: () => number;
}

/** How often leases end, retries begin and other control processes' workloads are noticed. */
const SWEEP_EVERY_MS = 500;
/** What another control process learned about a worker is noticed within this time, even when its message was lost. */
const LOOK_EVERY_MS = 5_000;
/** Two transactions keep Postgres busy; SQLite has one writer. */
const AT_ONCE = { sqlite: 1, postgres: 2 } as const;

/** Opens the queue over the database and starts its sweeper; both end with `scope`. */
export async function startPipeline(deps: PipelineDeps, scope: Scope): Promise<Pipeline> {
  const { db, clock, log, shared } = deps;
  const node = await takeNodeName({ ...shared, clock, log }, scope);
  const now = deps.now ?? clock.monotonic;
  const store = db.openQueue({
    node,
    now,
    random: deps.random,
    onFreed: (freed) => placesFreed(pipeline, freed),
  });
  const tallies = newTallies();
  const turns = createTurnQueue(store, AT_ONCE[db.dialect], tallies);
  const workloads = createWorkloadCache(db);
  const ready = createReadyHints();
  const stopping = new AbortController();
  const plugins = scope.add(
    "plugins",
    await startPlugins({
      dir: deps.plugins_dir,
      bundled_dir: deps.bundled_plugins_dir,
      clock,
      log,
    }),
    (p) => p.stop(),
  );
  await workloads.refresh();
  const pullers: Pipeline["pullers"] = new Map();
  const { pubsub } = shared;
  const tell = await startWakes(
    { pubsub, clock, log, db, pipeline: { ready, workloads, pullers } },
    scope,
  );
  const pipeline: Pipeline = {
    store,
    turns,
    tallies,
    workloads,
    ready,
    plugins,
    pullers,
    wanted: new Set(),
    tell,
    stopping: stopping.signal,
    windows: createRateWindows(clock, stopping.signal),
    stopWaiting: () => stopping.abort(),
    wake: (workload_id, n) => {
      ready.add(workload_id, n);
      tell.ready(workload_id, n);
    },
  };
  scope.add("queue", turns, (t) => t.idle());
  addLoop(scope, {
    name: "queue sweeper",
    everyMs: SWEEP_EVERY_MS,
    clock,
    log,
    pass: () => sweepOnce(pipeline, log),
  });
  addLoop(scope, {
    name: "look at pull workers",
    everyMs: LOOK_EVERY_MS,
    clock,
    log,
    pass: () => lookAtPullersOnce(db, pipeline),
  });
  return pipeline;
}

/** Tasks ended, expired, were cancelled or were given back, so others may begin. */
function placesFreed(
  { workloads, ready: hints, tell, wake }: Pipeline,
  { workload_id, places, ready }: FreedPlaces,
): void {
  if (workloads.byId(workload_id)?.max_in_flight) {
    hints.open(workload_id, places);
    tell.freed(workload_id, places);
  }
  if (ready > 0) wake(workload_id, ready);
}
