import { startPipelineLoops } from "#hub/pipeline/background.ts";
import { addPipelineMetrics } from "#hub/pipeline/metrics/pipeline-metrics.ts";
import { openOperations } from "#hub/pipeline/operations/start.ts";
import { pullPart } from "#hub/pipeline/pull/updates.ts";
import { openAccess } from "#hub/platform/access/access.ts";
import { createChanges } from "#hub/platform/changes.ts";
import { announceControl } from "#hub/platform/cluster/control-places.ts";
import { hubVersions } from "#hub/platform/cluster/hubs.ts";
import { openDb } from "#hub/platform/db/db.ts";
import { createCallCounts } from "#hub/platform/http/call-counts.ts";
import { createRunningCalls } from "#hub/platform/idempotency/running-calls.ts";
import { createRollout } from "#hub/platform/rollout/rollout.ts";
import { readKeyFile } from "#hub/platform/secrets/key-file.ts";
import { followKeyFile } from "#hub/platform/secrets/keyring.ts";
import { openUpdateKey } from "#hub/platform/secrets/update-key.ts";
import type { Scope } from "#shared/kit/scope.ts";
import { createWallJumps } from "#shared/kit/wall-jumps.ts";
import { newToken } from "#shared/protocol/ids.ts";
import { createControlApp } from "./app.ts";
import { addHealthMetrics } from "./health-metrics.ts";
import type { RunningHub, ServeDeps } from "./hub-deps.ts";
import { startBackups, startRollout, watchDisks, watchWallClock } from "./loops.ts";
import {
  namesOf,
  openAudit,
  openDiskRoom,
  openMetrics,
  openObjectsOf,
  openPipeline,
  openSharedOf,
  openStoresHealth,
  openTracer,
} from "./open-parts.ts";
import { running, serve } from "./serving.ts";

export async function openControl(deps: ServeDeps, scope: Scope): Promise<RunningHub> {
  const { config, log } = deps;
  const db = scope.add(
    "db",
    await openDb(config.db_url, { log, pool_size: config.db_pool_size }),
    (d) => d.close(),
  );
  const operations = await openOperations({ ...deps, db }, scope);
  const audit = openAudit(deps, db, newToken().slice(0, 12), scope);
  const shared = await openSharedOf(deps, scope);
  const objects = scope.add("objects", await openObjectsOf(deps), (o) => o.close());
  const pipeline = await openPipeline(deps, db, shared, scope);
  const { kv } = shared;
  const who = await openAccess({ ...deps, db, kv }, scope);
  const changes = createChanges();
  const rollout = createRollout({
    ...deps,
    ...db,
    changes,
    hubVersions: () => hubVersions({ ...deps, kv }, null),
  });
  const own_key = readKeyFile(config.secret_key_file);
  const keys = own_key && followKeyFile(config.secret_key_file, own_key, deps.clock);
  const metrics = openMetrics(deps);
  const ctx = {
    update_key: await openUpdateKey(db.settings, keys, {
      // If a key file is missing, the hub creates it, not the control plane.
      makes: keys !== null || !config.makes_secret_key,
      now: deps.clock.now(),
      log,
    }),
    own_names: namesOf(deps),
    ...deps,
    ...who,
    wall_jumps: createWallJumps(deps.clock, log),
    db,
    operations,
    audit,
    kv,
    objects,
    disk_room: await openDiskRoom(deps),
    pipeline,
    changes,
    rollout,
    metrics,
    tracer: openTracer(deps, kv, scope),
    call_counts: createCallCounts(metrics),
    stores_health: openStoresHealth(deps, db, objects),
    running_calls: createRunningCalls({ clock: deps.clock, db }),
  };
  rollout.addPart(pullPart(ctx));
  addPipelineMetrics(ctx);
  addHealthMetrics(ctx);
  const server = serve(deps, createControlApp(ctx), scope);
  scope.add("server", server, (s) => s.close());
  scope.add("waiting claims of the pipeline", pipeline, (p) => p.stopWaiting());
  watchDisks(ctx, scope);
  startPipelineLoops(ctx, scope);
  startBackups(deps, ctx, scope);
  startRollout(ctx, scope);
  watchWallClock(ctx, scope);
  await announceControl(ctx, server.port, scope);
  scope.add("listener", server, (s) => s.stopListening());
  log.info(
    { host: config.host, port: server.port, version: deps.version },
    "control plane started",
  );
  return running(deps, ctx, server, scope);
}
