import { hostname } from "node:os";
import { join } from "node:path";
import type { Clock } from "#shared/kit/clock.ts";
import { ConfigError } from "#shared/kit/env.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import { hostId } from "#shared/kit/host-id.ts";
import type { Log } from "#shared/kit/log.ts";
import { once } from "#shared/kit/once.ts";
import { createScope, type Scope } from "#shared/kit/scope.ts";
import { newToken, workerIdFromAddress } from "#shared/protocol/ids.ts";
import { loadPlaywright } from "#worker/browser/actions/connect.ts";
import { bridgeHost, startBridges } from "#worker/browser/bridge/bridge.ts";
import { runFetch } from "#worker/browser/fetch/run-fetch.ts";
import { RunStopped } from "#worker/browser/jobs/assignments.ts";
import { createLanePool } from "#worker/browser/lanes/pool.ts";
import { findCertutil } from "#worker/browser/process/authorities.ts";
import { openProfileCache } from "#worker/browser/profile/cache.ts";
import { openRecordings } from "#worker/browser/recording/recordings.ts";
import { runScripted } from "#worker/browser/scripted/run-scripted.ts";
import { createSessions } from "#worker/browser/session/live-session.ts";
import { openTraces } from "#worker/browser/trace/traces.ts";
import { findChromedriver } from "#worker/browser/webdriver/program.ts";
import { createWebDrivers } from "#worker/browser/webdriver/web-drivers.ts";
import type { WorkerConfig } from "#worker/config.ts";
import { createEgress, type Egress } from "#worker/egress/egress.ts";
import { egressReport, egressSettings } from "#worker/egress/settings.ts";
import { lanAddress } from "#worker/link/address.ts";
import type { WorkerLink } from "#worker/link/client.ts";
import { type HubAddress, parseHubUrl } from "#worker/link/hub-url.ts";
import { addLaneReadings } from "#worker/metrics/lane-meters.ts";
import { openReplays } from "#worker/replay/replays.ts";
import { openKeptUploads } from "#worker/upload/kept.ts";
import { createHostLoad } from "./host-load.ts";
import { startHubLink, tellLaneChanges } from "./hub-link.ts";
import { createHubWays } from "./hub-ways.ts";
import { createLaneWork, type LaneWork } from "./lane-work.ts";
import { createLeaving } from "./leaving.ts";
import { createSelfReport, type SelfReport, type SelfReportDeps } from "./self-report.ts";
import { createStandingSecret, type StandingSecret } from "./standing-secret.ts";
import { startUpdates } from "./start-update.ts";
import { EXIT_UPDATED } from "./update/launched.ts";
import type { Updater } from "./update/updater.ts";
import { EXIT_WATCHDOG, startLinkWatchdog, startStallWatchdog } from "./update/watchdog.ts";
import { createUpdateOrders } from "./update-orders.ts";
import type { WorkerDeps, WorkerParts } from "./worker-deps.ts";

/** So that workers whose loops stalled together do not all restart at the same time (rules/workers#stall-watchdog). */
const EXIT_JITTER_MS = 60_000;

export interface RunningWorker {
  /** Drains in order: no new jobs, running ones to their end or the deadline, link (1001), lanes. Idempotent. */
  stop(): Promise<void>;
  /** Resolves with an exit code when the worker ends: 0 stopped, 42 to run another version, 70 watchdog. */
  exited: Promise<number>;
}

export const REAL_PARTS: WorkerParts = {
  createLanePool,
  runFetch,
  runScripted,
  startBridges,
  loadPlaywright: async () => void (await loadPlaywright()),
  random: Math.random,
};

/** What every part of one worker knows of it. */
interface Start extends WorkerDeps {
  parts: WorkerParts;
  worker_id: string;
  hub: HubAddress;
  /** Address of this host on the hub's network. */
  address: string;
  /** Owns everything that is started. */
  scope: Scope;
}

/**
 * Starts lanes and link (rules/worker-link#link).
 * @throws ConfigError without HUB_URL; MissingProgramError (exit 3) when a program the lanes need is not installed.
 */
export async function startWorker(
  deps: WorkerDeps,
  parts: WorkerParts = REAL_PARTS,
): Promise<RunningWorker> {
  const { hub_url, worker_id: chosen } = deps.config;
  if (hub_url === null) throw new ConfigError("HUB_URL: is required to run a worker");
  const hub = parseHubUrl(hub_url);
  const address = await lanAddress(hub);
  const worker_id = chosen ?? workerIdFromAddress(address);
  const log = deps.log.child({ worker_id });
  const scope = createScope(log);
  try {
    return await startAll({ ...deps, parts, worker_id, hub, address, log, scope });
  } catch (err) {
    await scope.close();
    throw err;
  }
}

async function startAll(start: Start): Promise<RunningWorker> {
  const { config, clock, log, version, hub, worker_id, parts, scope, metrics, tracer } = start;
  const exit = Promise.withResolvers<number>();
  const egress = createEgress(egressSettings(config), { clock, log, watch: metrics?.lanes() });
  const secret = createStandingSecret();
  const lanes = await openLanes(start, egress, secret);
  const { pool, ways, sessions } = lanes;
  const work = createLaneWork({
    ...lanes,
    config,
    worker_id,
    egress,
    metrics,
    tracer,
    parts,
    clock,
    log,
  });
  const report = reportOf(start, lanes, work, () => updater.report());
  const leaving = createLeaving({ work, report, session: () => link.session(), clock, log });
  const updater: Updater = startUpdates(start, scope, log, {
    sessions: work.desk.count,
    drain: async (why, until) => {
      await Promise.all([leaving.forUpdate(why, until), start.drainOthers?.()]);
    },
    exit: () => exit.resolve(EXIT_UPDATED),
  });
  const link = startHubLink({
    url: hub.link(worker_id),
    work,
    sessions,
    report,
    orders: createUpdateOrders(updater, ways),
    ways,
    secret,
    egress,
    onRegistered: () => {
      metrics?.lanes().linkRegistered();
      start.onRegistered?.();
      start.onReady?.(`lanes of ${worker_id} are linked to ${hub.http}`);
    },
    clock,
    log,
    random: parts.random,
  });
  scope.add("link", link, (l) => l.stop());
  scope.add("lane reports", tellLaneChanges(pool, report, link), (end) => end());
  startWatchdogs(start, link, () => {
    work.stopAll(new RunStopped("link_lost", "the hub was silent"));
    exit.resolve(EXIT_WATCHDOG);
  });
  if (metrics)
    addLaneReadings(metrics.meters, {
      lanes: pool.lanes,
      jobs: work.assignments.in_flight,
      sessions: work.desk.count,
      isLinked: () => link.session() !== null,
    });
  scope.add("preload", preload(parts.loadPlaywright, clock, log), (p) => p.stop());
  log.info({ hub: hub.http, version, lanes: pool.lanes().length }, "worker started");

  const drain = async () => {
    await leaving.forGood(config.drain_ms);
    await scope.close();
    log.info({}, "worker stopped");
    exit.resolve(0);
  };
  return { stop: once(drain), exited: exit.promise };
}

type Lanes = Awaited<ReturnType<typeof openLanes>>;

/** Starts the lanes with what they need on this host: profiles, kept uploads, and the bridges to watch them. */
async function openLanes(start: Start, egress: Egress, secret: StandingSecret) {
  const { config, clock, log, signal, hub, worker_id, parts, scope } = start;
  const pool = scope.add(
    "lanes",
    await parts.createLanePool({ config, log, clock, signal, egress }),
    (p) => p.close(),
  );
  const profiles = await openProfileCache({
    dir: join(config.data_dir, "profiles"),
    max_bytes: config.profile_cache_bytes,
    clock,
    log,
  });
  const replays = await openReplays({
    dir: join(config.data_dir, "replays"),
    max_bytes: config.fetch.spool_max_bytes,
    clock,
  });
  const kept = await openKeptUploads(
    join(config.data_dir, "uploads"),
    config.fetch.spool_max_bytes,
  );
  const sessions = createSessions();
  const webdriver = scope.add("chromedrivers", webDriversOf(start, egress), (w) => w.close());
  const bridges = await parts.startBridges({
    host: bridgeHost(hub.host),
    base_port: config.novnc.base_port,
    vnc_port_base: config.lanes.vnc_port_base,
    cdp_port_base: config.lanes.cdp_port_base,
    lanes: config.lanes.count,
    headless: config.lanes.headless,
    sessions,
    refusalOfUrl: egress.judge.refusalOfUrl,
    webdriver,
    resizeScreen: pool.resizeScreen,
    vncSecret: pool.vncSecret,
    token: secret.current,
    clock,
    log,
  });
  scope.add("bridges", bridges, (b) => b.close());
  const ways = createHubWays({ hub, worker_id, clock, log });
  const recordings = await openRecordings({
    dir: join(config.data_dir, "recordings"),
    worker_id,
    vnc_port_base: config.lanes.vnc_port_base,
    headless: config.lanes.headless,
    vncSecret: pool.vncSecret,
    hubFiles: ways.filesOf,
    clock,
    log,
  });
  scope.add("recordings", recordings, (r) => r.close());
  const traces = await openTraces({
    dir: join(config.data_dir, "traces"),
    worker_id,
    hubFiles: ways.filesOf,
    clock,
    log,
  });
  return { pool, profiles, replays, kept, sessions, ways, recordings, traces };
}

const webDriversOf = ({ config: { browser, lanes }, clock, log }: Start, { judge }: Egress) =>
  createWebDrivers({
    program_path: browser.environment.PATH,
    cdp_port_base: lanes.cdp_port_base,
    refusalOfUrl: judge.refusalOfUrl,
    clock,
    log,
  });

const reportOf = (
  { config, clock, version, worker_id, address }: Start,
  { pool, profiles }: Lanes,
  { assignments }: LaneWork,
  update: SelfReportDeps["update"],
): SelfReport =>
  createSelfReport({
    worker_id,
    instance_id: newToken(),
    version,
    secret: config.worker_secret,
    address,
    hostname: hostname(),
    host_id: hostId(),
    lane_novnc_urls: viewerUrls(config),
    max_concurrent: config.max_concurrent,
    egress: egressReport(config),
    pool,
    in_flight: assignments.in_flight,
    profiles: profiles.names,
    update,
    hasCertutil: () => findCertutil(config.browser.environment.PATH) !== null,
    hasChromedriver: () => findChromedriver(config.browser.environment.PATH) !== null,
    load: createHostLoad({ data_dir: config.data_dir, clock }),
  });

/** @param onSilent called when the hub has said nothing for too long on a standing link */
function startWatchdogs(
  { config, clock, log, scope }: Start,
  link: Pick<WorkerLink, "last_received_at">,
  onSilent: () => void,
): void {
  const { stall_ms, link_ms } = config.watchdog;
  scope.add(
    "stall watchdog",
    startStallWatchdog({ threshold_ms: stall_ms, jitter_ms: EXIT_JITTER_MS, clock, log }),
    (w) => w.stop(),
  );
  scope.add(
    "link watchdog",
    startLinkWatchdog({
      threshold_ms: link_ms,
      clock,
      log,
      lastReceivedAt: link.last_received_at,
      expire: onSilent,
    }),
    (w) => w.stop(),
  );
}

/** Long enough for the first job of a worker that was just started to be on its way. */
const PRELOAD_AFTER_MS = 3_000;

/** Otherwise the first session would wait up to a second for Playwright to load. */
function preload(load: () => Promise<void>, clock: Clock, log: Log) {
  const stopping = new AbortController();
  void clock.sleep(PRELOAD_AFTER_MS, stopping.signal).then(async () => {
    if (stopping.signal.aborted) return;
    await load().catch((err) => log.error({ err: errorMessage(err) }, "could not load playwright"));
  });
  return { stop: async () => stopping.abort() };
}

const laneIndexes = (config: WorkerConfig) => [...Array(config.lanes.count).keys()];

/** Viewer bridges of the lanes (rules/lanes#viewer-links-of-a-lane); the hub inserts the address it sees. */
const viewerUrls = (config: WorkerConfig): string[] =>
  laneIndexes(config).map(
    (i) => `http://${config.novnc.public_host}:${config.novnc.base_port + i}/`,
  );
