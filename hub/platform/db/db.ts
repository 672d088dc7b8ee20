import { ConfigError } from "#shared/kit/env.ts";
import type { Log } from "#shared/kit/log.ts";
import { accessRepo } from "./access.ts";
import { agentsRepo } from "./agents.ts";
import { assetsRepo } from "./assets.ts";
import { attemptsRepo } from "./attempts.ts";
import { auditRepo } from "./audit.ts";
import type { Conn, Look } from "./conn.ts";
import { conventionsRepo } from "./conventions.ts";
import { cpuMinutesRepo } from "./cpu-minutes.ts";
import { deploysRepo } from "./deploys.ts";
import { documentsRepo } from "./documents.ts";
import { enginesRepo } from "./engines.ts";
import { eventsRepo } from "./events/repo.ts";
import { figuresRepo } from "./figures.ts";
import { flowRepo } from "./flow.ts";
import { gpusRepo } from "./gpus.ts";
import { hostsRepo } from "./hosts/repo.ts";
import { idempotencyRepo } from "./idempotency.ts";
import { jobProxiesRepo } from "./job-proxies.ts";
import { jobsRepo } from "./jobs/repo.ts";
import { pluginsRepo } from "./plugins.ts";
import { openPostgres } from "./postgres.ts";
import { presetsRepo } from "./presets.ts";
import { profilesRepo } from "./profiles.ts";
import { pullWorkersRepo } from "./pull-workers.ts";
import { recordingsRepo } from "./recordings.ts";
import { retentionRepo } from "./retention/repo.ts";
import { runNotesRepo } from "./run-notes.ts";
import { runsRepo } from "./runs.ts";
import { savedListsRepo } from "./saved-lists.ts";
import { schedulesRepo } from "./schedules.ts";
import { searchRepo } from "./search-repo.ts";
import { serviceLogsRepo } from "./service-logs.ts";
import { sessionsRepo } from "./sessions.ts";
import { settingsRepo } from "./settings.ts";
import { skillsRepo } from "./skills.ts";
import { openSqlite } from "./sqlite.ts";
import type { Db } from "./storage.ts";
import { supervisedRepo } from "./supervised.ts";
import { taskLabelsRepo } from "./task-labels.ts";
import { triageRepo } from "./triage/repo.ts";
import { viewsRepo } from "./views.ts";
import { watchesRepo } from "./watches.ts";
import { workerRestartsRepo } from "./worker-restarts.ts";
import { workersRepo } from "./workers.ts";
import { workloadVersionsRepo } from "./workload-versions.ts";
import { workloadsRepo } from "./workloads.ts";

export interface OpenDbOptions {
  log: Log;
  /** The most connections to Postgres. */
  pool_size?: number | undefined;
  /** Refuse a Postgres database that another hub uses. A SQLite file always has one owner. */
  as_hub?: boolean;
  /** How long a hub that is closing may still use the database. */
  lock_wait_ms?: number;
  /** Checks the database before anything is written to it, and refuses it by throwing a ConfigError. */
  look?: Look;
}

/**
 * Opens the storage of a hub and applies missing migrations. `url`: `postgres://…`, or `sqlite:<path>`, `file:<path>`,
 * a bare path, `sqlite::memory:`.
 * @throws ConfigError naming SVC_DB_URL when it cannot be opened.
 */
export async function openDb(url: string, options: OpenDbOptions): Promise<Db> {
  return toDb(await openConn(url, options));
}

export const isPostgres = (url: string): boolean => /^postgres(ql)?:\/\//i.test(url);

async function openConn(
  url: string,
  { log, pool_size, as_hub = false, lock_wait_ms = 3_000, look }: OpenDbOptions,
): Promise<Conn> {
  if (isPostgres(url))
    return openPostgres(url, {
      log,
      pool_size,
      hub_lock_wait_ms: as_hub ? lock_wait_ms : undefined,
      look,
    });
  const path = sqlitePath(url);
  if (path !== null) return openSqlite(path, { log, lock_wait_ms, look });
  throw unsupported(url);
}

export function unsupported(url: string): ConfigError {
  const scheme = /^[a-z0-9+.-]+:/i.exec(url)?.[0] ?? '""';
  return new ConfigError(
    `SVC_DB_URL: ${scheme} is not supported; use sqlite:<path> or postgres://<user>:<password>@<host>/<database>`,
  );
}

/** The file of a SQLite URL, null for any other; `sqlite:///abs/path` and `file:///abs/path` are read as well as the forms without slashes. */
export function sqlitePath(url: string): string | null {
  const [, scheme, rest = ""] = /^(?:(sqlite|file):)?(.*)$/is.exec(url.trim()) ?? [];
  if (scheme === undefined && /^[a-z][a-z0-9+.-]*:/i.test(rest)) return null;
  const path = rest.startsWith("//") ? rest.slice(2) : rest;
  return path === "" ? null : path;
}

/** Every repository over one connection, with the driver's errors translated to the product's. */
export function toDb(conn: Conn): Db {
  const guarded = <T extends object>(repo: T): T => guard(repo, conn.call);
  return {
    dialect: conn.dialect,
    jobs: guarded(jobsRepo(conn)),
    figures: guarded(figuresRepo(conn)),
    sessions: guarded(sessionsRepo(conn)),
    recordings: guarded(recordingsRepo(conn)),
    watches: guarded(watchesRepo(conn)),
    assets: guarded(assetsRepo(conn)),
    documents: guarded(documentsRepo(conn)),
    events: guarded(eventsRepo(conn)),
    attempts: guarded(attemptsRepo(conn)),
    workers: guarded(workersRepo(conn)),
    settings: guarded(settingsRepo(conn)),
    hosts: guarded(hostsRepo(conn)),
    idempotency: guarded(idempotencyRepo(conn)),
    workloads: guarded(workloadsRepo(conn)),
    workload_versions: guarded(workloadVersionsRepo(conn)),
    runs: guarded(runsRepo(conn)),
    run_notes: guarded(runNotesRepo(conn)),
    task_labels: guarded(taskLabelsRepo(conn)),
    search: guarded(searchRepo(conn)),
    saved_lists: guarded(savedListsRepo(conn)),
    views: guarded(viewsRepo(conn)),
    triage: guarded(triageRepo(conn)),
    flow: guarded(flowRepo(conn)),
    gpus: guarded(gpusRepo(conn)),
    cpu_minutes: guarded(cpuMinutesRepo(conn)),
    schedules: guarded(schedulesRepo(conn)),
    retention: guarded(retentionRepo(conn)),
    pull_workers: guarded(pullWorkersRepo(conn)),
    agents: guarded(agentsRepo(conn)),
    supervised: guarded(supervisedRepo(conn)),
    worker_restarts: guarded(workerRestartsRepo(conn)),
    profiles: guarded(profilesRepo(conn)),
    plugins: guarded(pluginsRepo(conn)),
    service_logs: guarded(serviceLogsRepo(conn)),
    audit: guarded(auditRepo(conn)),
    deploys: guarded(deploysRepo(conn)),
    engines: guarded(enginesRepo(conn)),
    job_proxies: guarded(jobProxiesRepo(conn)),
    presets: guarded(presetsRepo(conn)),
    skills: guarded(skillsRepo(conn)),
    conventions: guarded(conventionsRepo(conn)),
    access: guarded(accessRepo(conn)),
    openQueue: (options) => guard(conn.openQueue(options), conn.callQueue),
    ...guarded({ ping: conn.ping, scrub: conn.scrub }),
    close: conn.close,
  };
}

/** The cast holds because repositories are plain records of async functions. */
function guard<T extends object>(repo: T, within: Conn["call"]): T {
  const wrap =
    (call: (...args: unknown[]) => Promise<unknown>) =>
    (...args: unknown[]) =>
      within(() => call(...args));
  return Object.fromEntries(Object.entries(repo).map(([name, call]) => [name, wrap(call)])) as T;
}
