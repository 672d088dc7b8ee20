import { hostname } from "node:os";
import { join } from "node:path";
import { createStoresHealth, type StoresHealth } from "#hub/fleet/links/stores-health.ts";
import type { Pipeline } from "#hub/pipeline/context.ts";
import { startPipeline } from "#hub/pipeline/start.ts";
import { type AuditLog, createAuditLog } from "#hub/platform/access/audit/audit-log.ts";
import type { Db } from "#hub/platform/db/storage.ts";
import { ownNames } from "#hub/platform/http/own-names.ts";
import { createMetrics, type Metrics } from "#hub/platform/metrics/metrics.ts";
import { createDiskRoom, type DiskRoom } from "#hub/platform/stores/disk-room.ts";
import type { Kv } from "#hub/platform/stores/kv.ts";
import type { ObjectStore } from "#hub/platform/stores/objects.ts";
import { openObjects } from "#hub/platform/stores/open-objects.ts";
import { openShared, type SharedStores } from "#hub/platform/stores/open-shared.ts";
import type { HubTracer } from "#hub/platform/tracing/hub-tracer.ts";
import { createKeptTraces } from "#hub/platform/tracing/kept-trace.ts";
import { writeBundledPlugins } from "#hub/plugins/bundled-plugins.ts";
import { addProcessMetrics } from "#shared/kit/process-metrics.ts";
import type { Scope } from "#shared/kit/scope.ts";
import { openProcessTracer } from "#shared/kit/tracing/tracer.ts";
import { backupTrouble as backupTroubleOf } from "./backups/backups.ts";
import type { HubDeps, ServeDeps } from "./hub-deps.ts";
import { writtenDirs } from "./written-dirs.ts";

/** Without shared stores, a second hub on the same database would lease lanes twice. */
export const alone = ({ config, shared }: HubDeps): boolean =>
  config.shared_store === null && !shared;

export const namesOf = ({ config, tls }: ServeDeps): string[] =>
  ownNames(config, tls?.certificate ?? null);

export const openObjectsOf = ({ config, log }: HubDeps): Promise<ObjectStore> =>
  openObjects(config.objects_url, { log, keys: config.object_keys });

/** What this process part tells to `/metrics`; the rooms add theirs. */
export function openMetrics({ config, clock, log, version }: HubDeps): Metrics {
  const metrics = createMetrics({ clock, log });
  addProcessMetrics(metrics, { version, mode: config.mode });
  return metrics;
}

/** Where the spans of this process go; null where no collector is named. */
export function openTracer(
  { config, clock, log, version }: HubDeps,
  kv: Kv,
  scope: Scope,
): HubTracer | null {
  const { tracing, mode } = config;
  if (tracing === null) return null;
  const name = mode === "control" ? "flotilla-control" : "flotilla-hub";
  const tracer = openProcessTracer(tracing, { name, version, clock, log });
  scope.add("traces", tracer, (t) => t.stop());
  return Object.assign(tracer, { kept: createKeptTraces({ kv, log }) });
}

/** Opened after the stores, which make their directories. */
export async function openDiskRoom({ config, clock, log }: HubDeps): Promise<DiskRoom> {
  const { disk_reserve_bytes: reserve_bytes } = config;
  const room = createDiskRoom({ clock, log, dirs: writtenDirs(config), reserve_bytes });
  await room.look();
  return room;
}

export async function openSharedOf(deps: HubDeps, scope: Scope): Promise<SharedStores> {
  if (deps.shared) return deps.shared;
  const opened = await openShared(deps.config.shared_store, deps);
  return scope.add("shared stores", opened, (s) => s.close());
}

/** Opened over the database, which must be closed after it, so that every call until then is stored. */
export function openAudit(
  { config, clock, log }: HubDeps,
  db: Db,
  id: string,
  scope: Scope,
): AuditLog {
  const hub = `${hostname()}/${id}`;
  const audit = createAuditLog({
    db,
    clock,
    log,
    hub,
    days: () => config.audit_days,
    logs: () => config.logs_audit,
  });
  return scope.add("audit log", audit, (a) => a.stop());
}

/** The scheduled backups that this process makes, and how it starts itself for one; null: none. */
export function backupsOf({ config: { backup }, self }: Pick<HubDeps, "config" | "self">) {
  return backup === null || self === undefined ? null : { backup, self };
}

/** Watches whether the stores accept writes and whether their backups succeed. */
export function openStoresHealth(
  { config, clock, self }: HubDeps,
  db: Db,
  objects: ObjectStore,
): StoresHealth {
  const backupTrouble = () => backupTroubleOf({ clock, db });
  const makes_backups = backupsOf({ config, self }) !== null;
  return createStoresHealth({ clock, db, objects, ...(makes_backups && { backupTrouble }) });
}

export const openPipeline = async (
  { config, clock, log, random = Math.random }: HubDeps,
  db: Db,
  shared: SharedStores,
  scope: Scope,
): Promise<Pipeline> => {
  const { plugins_dir, data_dir } = config;
  const bundled_plugins_dir = join(data_dir, "bundled-plugins");
  await writeBundledPlugins(bundled_plugins_dir);
  return startPipeline({ db, clock, log, plugins_dir, bundled_plugins_dir, shared, random }, scope);
};
