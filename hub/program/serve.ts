import type { X509Certificate } from "node:crypto";
import { hostname } from "node:os";
import { join } from "node:path";
import { settleScripts, startScripted } from "#hub/fleet/codegen/run-scripted.ts";
import { SCRIPT_TOOLS, type ScriptTools } from "#hub/fleet/codegen/tools.ts";
import type { HubContext, Signal } from "#hub/fleet/context.ts";
import { createArrivals } from "#hub/fleet/jobs/arrivals.ts";
import { createJobBus } from "#hub/fleet/jobs/bus.ts";
import { tellBack, tellCut } from "#hub/fleet/jobs/cuts.ts";
import { createDispatcher } from "#hub/fleet/jobs/dispatcher.ts";
import { stopEndedOnce } from "#hub/fleet/jobs/ended-elsewhere.ts";
import {
  failAbandoned,
  failAwaited,
  failJobsOf,
  failJobsOn,
  failLeftovers,
  finishJob,
  storeJobLog,
} from "#hub/fleet/jobs/finish.ts";
import { afterGapOnce, hubMessage, lookForHubsOnce } from "#hub/fleet/jobs/hub-messages.ts";
import { dispatchOnce, reconcileOnce, redriveOnce } from "#hub/fleet/jobs/passes.ts";
import { RETAIN_JOBS_EVERY_MS, retainJobsOnce } from "#hub/fleet/jobs/retention.ts";
import { newScripted } from "#hub/fleet/jobs/scripted.ts";
import { leaveRuns, takeUpRuns } from "#hub/fleet/jobs/take-up.ts";
import { storeUnstoredOnce } from "#hub/fleet/jobs/unstored.ts";
import { createWebhooks } from "#hub/fleet/jobs/webhook.ts";
import { awaitWorkers, noneAwaited, readAwaited } from "#hub/fleet/links/awaited.ts";
import { createCandidateTeller } from "#hub/fleet/links/candidate.ts";
import { drainHub } from "#hub/fleet/links/drain.ts";
import { retryReleasesOnce } from "#hub/fleet/links/lanes.ts";
import { livenessOnce, readStatusesOnce, touchWorkersOnce } from "#hub/fleet/links/passes.ts";
import { publishChangesOnce } from "#hub/fleet/links/registration.ts";
import { dropLink, leaveLink } from "#hub/fleet/links/registry.ts";
import { createStoresHealth } from "#hub/fleet/links/stores-health.ts";
import { canBeLeft, linkFarewell } from "#hub/fleet/links/take-up.ts";
import { isJobLane, type WorkerLink } from "#hub/fleet/links/worker-link.ts";
import {
  createProfileSweeper,
  type ProfileSweeper,
  SWEEP_EVERY_MS,
} from "#hub/fleet/registries/profile-sweep.ts";
import { profileKey } from "#hub/fleet/registries/profiles.ts";
import { browserPart } from "#hub/fleet/updates/browsers.ts";
import { createRollout, LOOK_EVERY_MS } from "#hub/platform/rollout/rollout.ts";
import { closeSandboxes } from "#hub/fleet/runner/sandbox.ts";
import { sweepScratch } from "#hub/fleet/runner/scratch.ts";
import { sessionReply } from "#hub/fleet/sessions/calls.ts";
import { dropSessionOn, dropSessionsOf } from "#hub/fleet/sessions/end.ts";
import { sessionMessage } from "#hub/fleet/sessions/messages.ts";
import { PLACE_BEAT_MS, publishPlacesOnce } from "#hub/fleet/sessions/places.ts";
import { reapSessionsOnce } from "#hub/fleet/sessions/reap.ts";
import { startControlLoops } from "#hub/pipeline/background.ts";
import type { Pipeline } from "#hub/pipeline/context.ts";
import { type OwnLogs, shipOwnLogs } from "#hub/pipeline/operations/ship-own-logs.ts";
import { openOperations } from "#hub/pipeline/operations/start.ts";
import { pullPart } from "#hub/pipeline/pull/updates.ts";
import { startPipeline } from "#hub/pipeline/start.ts";
import { openAccess } from "#hub/platform/access/access.ts";
import { type AuditLog, createAuditLog } from "#hub/platform/access/audit/audit-log.ts";
import { createSignedLinks } from "#hub/platform/access/links/signed-links.ts";
import { createChanges } from "#hub/platform/changes.ts";
import { createCluster } from "#hub/platform/cluster/cluster.ts";
import {
  advertisedUrl,
  beatHubOnce,
  HUB_BEAT_MS,
  hubVersions,
  leaveHubs,
  otherHubAlive,
} from "#hub/platform/cluster/hubs.ts";
import type { HubConfig } from "#hub/platform/config.ts";
import { openDb } from "#hub/platform/db/db.ts";
import type { Db } from "#hub/platform/db/types.ts";
import { type HttpServer, listen } from "#hub/platform/http/listen.ts";
import type { App } from "#hub/platform/http/new-app.ts";
import { ownNames } from "#hub/platform/http/own-names.ts";
import { watchCertificate } from "#hub/platform/http/serve-tls.ts";
import { type LoadedTls, loadTls } from "#hub/platform/http/tls-files.ts";
import { createRunningCalls } from "#hub/platform/idempotency/running-calls.ts";
import { readKeyFile } from "#hub/platform/secrets/key-file.ts";
import { followKeyFile } from "#hub/platform/secrets/keyring.ts";
import { openSealedDb } from "#hub/platform/secrets/open-sealed.ts";
import { sealOlder } from "#hub/platform/secrets/seal-older.ts";
import { sealedObjects } from "#hub/platform/secrets/sealed-objects.ts";
import { sealedSettings } from "#hub/platform/secrets/sealed-settings.ts";
import { openUpdateKey } from "#hub/platform/secrets/update-key.ts";
import { openDataDir } from "#hub/platform/stores/data-dir.ts";
import { openKeptFiles } from "#hub/platform/stores/kept-files.ts";
import type { ObjectStore } from "#hub/platform/stores/objects.ts";
import { openObjects } from "#hub/platform/stores/open-objects.ts";
import { openShared, type SharedStores } from "#hub/platform/stores/open-shared.ts";
import type { Clock } from "#shared/kit/clock.ts";
import type { Log } from "#shared/kit/log.ts";
import { startLoop } from "#shared/kit/loop.ts";
import { createScope, type Scope } from "#shared/kit/scope.ts";
import { createWallJumps } from "#shared/kit/wall-jumps.ts";
import { newToken } from "#shared/protocol/ids.ts";
import { HUB_STOPPING_REASON, LINK_CLOSE } from "#shared/protocol/link/messages.ts";
import { createControlApp, createHubApp } from "./app.ts";
import { backupTrouble as backupTroubleOf, demandTick } from "./backups/backups.ts";
import { runBackupProcess } from "./backups/run-backup.ts";

export interface HubDeps {
  config: HubConfig;
  log: Log;
  clock: Clock;
  version: string;
  /** How this program is started; absent: no scheduled backups are made. */
  self?: readonly string[];
  /** Breaks ties between workers; Math.random by default. */
  random?: () => number;
  /** For tests: told of moments that are otherwise invisible. */
  signal?: (name: Signal, data: Record<string, unknown>) => void;
  /** For tests: stores that several hubs of one process share; whoever made them closes them. */
  shared?: SharedStores;
  /** For tests: what runs and plans scripts in the place of the real ones. */
  script_tools?: Partial<ScriptTools>;
  /** For tests: given the context, to run single passes on it. */
  onContext?: (ctx: HubContext) => void;
}

/** What a start is given, and what it makes of the log. */
type ServeDeps = HubDeps & OwnLogs & { tls: LoadedTls | null };

export interface RunningHub {
  url: string;
  port: number;
  /** Its own, as it was at the start; null for plain HTTP. */
  certificate: X509Certificate | null;
  /** The administrator's, made at this start; to be shown once. */
  new_password: string | null;
  /** Whether people are asked for a token. */
  asksForToken(): boolean;
  /** Lets one browser in as the administrator, once; for minutes. */
  newLoginCode(): Promise<string>;
  /** For calls of this program's own. */
  own_token: string;
  /** Takes a certificate that has changed. @throws ConfigError when its files cannot be used; what is served stays. */
  reload(): void;
  /** Drains, then stops in order; idempotent. */
  stop(): Promise<void>;
}

const LIVENESS_EVERY_MS = 5_000;
const REAP_EVERY_MS = 1_000;
/** A job whose result came while the database was away ends so soon after it is back. */
const UNSTORED_EVERY_MS = 1_000;
/** How often hubs tell each other of their lanes, changed or not. */
const NEWS_EVERY_MS = 1_000;

/** Without shared stores a second hub on the same database would give its lanes out twice. */
const alone = ({ config, shared }: HubDeps): boolean => config.redis_url === null && !shared;

const largestBody = (config: HubConfig) =>
  Math.max(config.max_asset_bytes, config.max_profile_bytes);

/** A server that looks at the files of its certificate when it is told to, and by itself. */
interface Serving extends HttpServer {
  look(): void;
}

/** Listens, and follows the files of the certificate where there is one. */
function serve({ config, clock, log, tls }: ServeDeps, app: App, scope: Scope): Serving {
  const server = listen(app, { ...config, tls, max_body_bytes: largestBody(config) }, log);
  if (config.tls === null || tls === null) return { ...server, look: () => {} };
  const watch = watchCertificate({ files: config.tls, loaded: tls, server, clock, log });
  scope.add("certificate", watch, (w) => w.stop());
  return { ...server, look: () => void watch.look() };
}

const running = (
  { config, tls }: ServeDeps,
  {
    operations: { new_password },
    tokens,
    logins,
  }: Pick<HubContext, "operations" | "tokens" | "logins">,
  { port, look }: Serving,
  scope: Scope,
): RunningHub => {
  const host = config.host.includes(":") ? `[${config.host}]` : config.host;
  return {
    url: `${config.tls ? "https" : "http"}://${host}:${port}`,
    port,
    certificate: tls?.certificate ?? null,
    new_password,
    asksForToken: () => config.api_token !== null || tokens.exist,
    newLoginCode: logins.newCode,
    own_token: tokens.own,
    reload: look,
    stop: () => scope.close(),
  };
};

/**
 * Starts a hub (with the control plane beside it), or the control plane alone in control mode.
 * @throws ConfigError naming the variable when a store cannot be opened or the port is taken.
 */
export async function startHub(given: HubDeps): Promise<RunningHub> {
  // Before anything is opened: a certificate that cannot be used is told at once.
  const tls = given.config.tls && loadTls(given.config.tls);
  const deps = { ...given, ...shipOwnLogs(given), tls };
  const scope = createScope(deps.log);
  try {
    const { mode, data_dir } = deps.config;
    openDataDir(data_dir, { lets_through: mode === "dev", log: deps.log });
    return await (deps.config.mode === "control" ? openControl(deps, scope) : openHub(deps, scope));
  } catch (err) {
    await scope.close();
    throw err;
  }
}

const namesOf = ({ config, tls }: ServeDeps): string[] =>
  ownNames(config, tls?.certificate ?? null);

async function openControl(deps: ServeDeps, scope: Scope): Promise<RunningHub> {
  const { config, log } = deps;
  const db = scope.add("db", await openDb(config.db_url, { log }), (d) => d.close());
  const operations = await openOperations({ ...deps, db }, scope);
  const audit = openAudit(deps, db, newToken().slice(0, 12), scope);
  const shared = await openSharedOf(deps, scope);
  const objects = scope.add("objects", await openObjectsOf(deps), (o) => o.close());
  const pipeline = await openPipeline(deps, db, shared, scope);
  const { kv } = shared;
  const who = await openAccess({ ...deps, db, kv }, scope);
  const changes = createChanges();
  const rollout = createRollout({
    ...{ ...deps, ...db, changes },
    hubVersions: () => hubVersions({ ...deps, kv }, null),
  });
  const own_key = readKeyFile(config.secret_key_file);
  const keys = own_key && followKeyFile(config.secret_key_file, own_key, deps.clock);
  const ctx = {
    update_key: await openUpdateKey(db.settings, keys, {
      // Where a file of keys is to be, the hub makes it.
      makes: keys !== null || !config.makes_secret_key,
      now: deps.clock.now(),
      log,
    }),
    own_names: namesOf(deps),
    ...{ ...deps, ...who, db, operations, audit, kv, objects, pipeline, changes, rollout },
    ...storesHealthOf(deps, db, objects),
    running_calls: createRunningCalls({ clock: deps.clock, db }),
  };
  rollout.addPart(pullPart(ctx));
  const server = serve(deps, createControlApp(ctx), scope);
  scope.add("server", server, (s) => s.close());
  scope.add("waiting claims of the pipeline", pipeline, (p) => p.stopWaiting());
  startControlLoops(ctx, scope);
  startRollout(ctx, scope);
  watchWallClock(deps, scope);
  scope.add("listener", server, (s) => s.stopListening());
  log.info(
    { host: config.host, port: server.port, version: deps.version },
    "control plane started",
  );
  return running(deps, ctx, server, scope);
}

/** Which workers are there and what they may do is asked for from now on. */
function startRollout(
  { rollout, clock, log }: Pick<HubContext, "rollout" | "clock" | "log">,
  scope: Scope,
): void {
  const options = { name: "updates", everyMs: LOOK_EVERY_MS, clock, log, pass: rollout.pass };
  scope.add("updates", startLoop(options), (l) => l.stop());
}

/** A hub looks in its liveness loop. */
function watchWallClock({ clock, log }: HubDeps, scope: Scope): void {
  const jumps = createWallJumps(clock, log);
  const pass = async () => jumps.look();
  const options = { name: "wall clock", everyMs: LIVENESS_EVERY_MS, clock, log, pass };
  scope.add("wall clock", startLoop(options), (l) => l.stop());
}

const openObjectsOf = ({ config, log }: HubDeps): Promise<ObjectStore> =>
  openObjects(config.objects_url, { log, keys: config.object_keys });

async function openSharedOf(deps: HubDeps, scope: Scope): Promise<SharedStores> {
  if (deps.shared) return deps.shared;
  const { redis_url, redis_prefix: prefix } = deps.config;
  const opened = await openShared(redis_url, { ...deps, prefix });
  return scope.add("shared stores", opened, (s) => s.close());
}

/** Opened over the database, which is to be closed after it: what was called until then is stored. */
function openAudit({ config, clock, log }: HubDeps, db: Db, id: string, scope: Scope): AuditLog {
  const hub = `${hostname()}/${id}`;
  const audit = createAuditLog({ db, clock, log, hub, days: () => config.audit_days });
  return scope.add("audit log", audit, (a) => a.stop());
}

/** What the stores take, and the backups that are made of them. */
function storesHealthOf({ config, clock, log, self }: HubDeps, db: Db, objects: ObjectStore) {
  const { backup } = config;
  if (backup !== null) demandTick(backup.schedule, clock.now());
  const run = (signal: AbortSignal) => runBackupProcess(self ?? [], config, signal);
  const backups =
    backup === null || self === undefined
      ? null
      : { ...{ clock, log, db, backup, run }, hub: newToken().slice(0, 12) };
  const backupTrouble = () => backupTroubleOf({ clock, db });
  const watched = { clock, db, objects, ...(backups !== null && { backupTrouble }) };
  return { backups, stores_health: createStoresHealth(watched) };
}

const openPipeline = (
  { config, clock, log, random = Math.random }: HubDeps,
  db: Db,
  shared: SharedStores,
  scope: Scope,
): Promise<Pipeline> => {
  const { plugins_dir } = config;
  return startPipeline({ db, clock, log, plugins_dir, shared, random }, scope);
};

/** Opens the stores and builds the context. `beforeStores` is closed after the links and before the stores. */
async function openContext(
  deps: ServeDeps,
  scope: Scope,
  draining: AbortSignal,
  beforeStores: () => Promise<void>,
): Promise<HubContext> {
  const { config, log, clock, version } = deps;
  const stopping = new AbortController();
  const sealed = await openSealedDb({ config, log, clock, as_hub: alone(deps) });
  const { keys, stored_hosts } = sealed;
  const db = scope.add("db", sealed.db, (d) => d.close());
  const operations = await openOperations({ ...deps, db }, scope);
  const hub_id = newToken().slice(0, 12);
  const audit = openAudit(deps, db, hub_id, scope);
  const objects = scope.add("objects", await openObjectsOf(deps), (o) => o.close());
  if (keys !== null) {
    const older = { ...deps, db: { ...db, hosts: stored_hosts }, objects, keys, profileKey };
    scope.add("secrets of earlier versions", sealOlder(older), (s) => s.stop());
  }
  const shared = await openSharedOf(deps, scope);
  const who = await openAccess({ ...deps, db, kv: shared.kv }, scope);
  const pipeline = await openPipeline(deps, db, shared, scope);
  scope.add("connections", beforeStores, (close) => close());
  const dispatcher = createDispatcher(log, () => dispatchOnce(ctx));
  const teller = createCandidateTeller(clock, () => ctx);
  const changes = createChanges();
  const rollout = createRollout({
    ...{ ...deps, ...db, changes },
    hubVersions: () => hubVersions(ctx, ctx),
  });
  const failed = (err: unknown) => log.error({ err }, "message of another hub was not handled");
  const cluster = createCluster({
    ...{ hub_id, clock, log, pubsub: shared.pubsub, shared: !alone(deps) },
    hear: (message) => void hubMessage(ctx, message).catch(failed),
    met: () => {
      for (const link of ctx.links.values()) link.untold = true;
      teller.tell();
    },
    gap: () => {
      void afterGapOnce(ctx);
      void publishPlacesOnce(ctx);
    },
  });
  const ctx: HubContext = {
    config,
    log,
    clock,
    wall_jumps: createWallJumps(clock, log),
    random: deps.random ?? Math.random,
    version,
    hub_id,
    own_names: namesOf(deps),
    cluster,
    candidate: teller,
    db,
    ...{ kv: shared.kv, leases: shared.leases, pubsub: shared.pubsub },
    kept: alone(deps) ? openKeptFiles(join(config.data_dir, "kept")) : shared.kv,
    awaited: noneAwaited(),
    advertise: { url: "" },
    relays: { calls: 0 },
    objects,
    profile_archives: keys ? sealedObjects(objects, keys) : objects,
    update_key: await openUpdateKey(db.settings, keys, { makes: true, now: clock.now(), log }),
    links: new Map(),
    handshakes: new Map(),
    sessions: new Map(),
    session_calls: new Map(),
    lanes_wanted: new Set(),
    previews: new Map(),
    pipeline,
    operations,
    rollout,
    ...who,
    audit,
    signed_links: createSignedLinks({
      settings: keys ? sealedSettings(db.settings, keys) : db.settings,
      clock,
    }),
    access_log: deps.access_log,
    fleet_cache: { last: null },
    ...storesHealthOf(deps, db, objects),
    hooks: {
      laneFree: () => {
        ctx.changes.touch("workers");
        dispatcher.kick();
        teller.changed();
      },
      laneTaken: () => {
        ctx.changes.touch("workers");
        teller.changed();
      },
      workerStarted: (worker_id) => failJobsOf(ctx, worker_id),
      takenUp: (link, left) => takeUpRuns(ctx, link, left),
      leaving: (link) => leaveRuns(ctx, link),
      linkLost: async (link, cause, moved) => {
        ctx.changes.touch("workers");
        teller.changed();
        await dropSessionsOf(ctx, link.worker_id, cause, moved);
        if (!moved) await failJobsOn(ctx, link, cause);
      },
      linkCut: (link) => {
        teller.changed();
        return tellCut(ctx, link);
      },
      linkBack: (link, cut_ms) => tellBack(ctx, link, cut_ms),
      scriptReady: (held) => startScripted(ctx, held),
      jobLog: (held, message) => storeJobLog(ctx, held, message),
      jobResult: (held, message) => finishJob(ctx, held, message),
      sessionMessage: (link, message) => {
        ctx.changes.touch("sessions");
        return sessionMessage(ctx, link, message);
      },
      sessionReply: (link, reply) => sessionReply(ctx, link, reply),
      laneLeft: (held) => dropSessionOn(ctx, held, "its page is closed while its job uploads"),
      laneOver: async (link, held) => {
        await dropSessionOn(ctx, held);
        const uploads = link.uploading.has(held.lease.token);
        if (!held.done && !uploads && isJobLane(held)) await failAbandoned(ctx, link, held);
      },
    },
    bus: createJobBus(() => ctx),
    dispatcher,
    settings_cache: new Map(),
    webhooks: createWebhooks(() => ctx),
    changes,
    arrivals: createArrivals(clock),
    waiters: new Map(),
    scripted: newScripted(),
    script_tools: { ...SCRIPT_TOOLS, ...deps.script_tools },
    unstored: new Map(),
    profile_writers: new Map(),
    running_calls: createRunningCalls({ clock, db }),
    streams: new Set(),
    draining,
    stopping: stopping.signal,
    signal: deps.signal ?? (() => {}),
  };
  rollout.addPart(browserPart(ctx, rollout));
  rollout.addPart(pullPart(ctx));
  deps.onContext?.(ctx);
  sweepScratch(ctx.config.data_dir);
  scope.add("script sandboxes", ctx.config.data_dir, closeSandboxes);
  scope.add("scripts", ctx, settleScripts);
  scope.add("cluster", cluster, (c) => c.stop());
  scope.add("webhooks", ctx.webhooks, (w) => w.stop());
  scope.add("candidate", teller, (t) => t.stop());
  scope.add("event streams", ctx.streams, (streams) =>
    Promise.all([...streams].map((end) => end())),
  );
  scope.add("links", ctx, closeLinks);
  scope.add("dispatcher", dispatcher, (d) => d.stop());
  scope.add("stop signal", stopping, (s) => s.abort());
  scope.add("waiting claims of the pipeline", pipeline, (p) => p.stopWaiting());
  return ctx;
}

async function closeLinks(ctx: HubContext): Promise<void> {
  const { code, reason } = linkFarewell(ctx);
  for (const socket of ctx.handshakes.keys()) socket.close(code, reason);
  const close = (link: WorkerLink) =>
    canBeLeft(ctx, link)
      ? leaveLink(ctx, link)
      : dropLink(ctx, link, LINK_CLOSE.going_away, HUB_STOPPING_REASON, "stopping");
  await Promise.all([...ctx.links.values()].map(close));
}

function startLoops(ctx: HubContext, scope: Scope, sweeper: ProfileSweeper): void {
  const { clock, log, config } = ctx;
  const loop = (name: string, everyMs: number, pass: (signal: AbortSignal) => Promise<unknown>) =>
    scope.add(
      name,
      startLoop({ name, everyMs, clock, log, pass: async (signal) => void (await pass(signal)) }),
      (l) => l.stop(),
    );
  let touched = 0;
  loop("hub beat", HUB_BEAT_MS, async () => {
    await beatHubOnce(ctx);
    await lookForHubsOnce(ctx);
    await readStatusesOnce(ctx);
    const since = touched;
    touched = clock.monotonic();
    await touchWorkersOnce(ctx, since);
  });
  loop("liveness", LIVENESS_EVERY_MS, async () => {
    ctx.wall_jumps.look();
    await livenessOnce(ctx);
    ctx.dispatcher.retryFailed();
    await retryReleasesOnce(ctx);
    if (ctx.cluster.peers.size === 0) return;
    // A wake may have been lost.
    ctx.dispatcher.kick();
    await stopEndedOnce(ctx);
  });
  if (ctx.cluster.shared)
    loop("hub news", NEWS_EVERY_MS, async () => {
      if (ctx.cluster.peers.size === 0) return;
      ctx.candidate.tell();
      await publishChangesOnce(ctx);
    });
  // The failed write has been logged.
  loop("unstored results", UNSTORED_EVERY_MS, () => storeUnstoredOnce(ctx).catch(() => {}));
  loop("reconciler", config.stale.reconcile_interval_ms, () => reconcileOnce(ctx));
  loop("profile sweep", SWEEP_EVERY_MS, () => sweeper.sweep());
  loop("job retention", RETAIN_JOBS_EVERY_MS, (signal) => retainJobsOnce(ctx, signal));
  loop("session reaper", REAP_EVERY_MS, () => reapSessionsOnce(ctx));
  loop("session places", PLACE_BEAT_MS, () => publishPlacesOnce(ctx));
  startControlLoops(ctx, scope);
  startRollout(ctx, scope);
  if (config.queue.redrive)
    loop("redrive", config.queue.redrive_interval_ms, () => redriveOnce(ctx));
}

async function openHub(deps: ServeDeps, scope: Scope): Promise<RunningHub> {
  const { config, log } = deps;
  let server: Serving | null = null;
  const draining = new AbortController();
  const ctx = await openContext(deps, scope, draining.signal, async () => server?.close());
  const sweeper = createProfileSweeper(ctx);
  // Before it looks for others: of two that start together neither takes the other's jobs for leftovers.
  scope.add("hub registry", ctx, leaveHubs);
  await beatHubOnce(ctx);
  await ctx.cluster.listen();
  if (!(await otherHubAlive(ctx))) {
    await readAwaited(ctx);
    await failLeftovers(ctx);
    await sweeper.sweepAll();
  }
  // Closed in reverse: work under way → listener → loops → waiting calls → dispatcher → links (1012) → connections → stores → db.
  server = serve(deps, createHubApp(ctx), scope);
  ctx.advertise.url = config.advertise_url ?? advertisedUrl(config, server.port);
  await beatHubOnce(ctx);
  ctx.cluster.greet();
  startLoops(ctx, scope, sweeper);
  void awaitWorkers(ctx, (worker_id) => failAwaited(ctx, worker_id)).catch((err) =>
    log.error({ err }, "jobs of workers that are not back were not failed"),
  );
  scope.add("listener", server, (s) => s.stopListening());
  scope.add("work under way", ctx, () => drainHub(ctx, draining));
  log.info({ host: config.host, port: server.port, version: deps.version }, "hub started");
  return running(deps, ctx, server, scope);
}
