import { hostname } from "node:os";
import { join } from "node:path";
import type { Clock } from "#shared/kit/clock.ts";
import { ConfigError } from "#shared/kit/env.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import { hostId } from "#shared/kit/host-id.ts";
import type { Log } from "#shared/kit/log.ts";
import { createScope } from "#shared/kit/scope.ts";
import { createWallJumps } from "#shared/kit/wall-jumps.ts";
import { newToken, workerIdFromAddress } from "#shared/protocol/ids.ts";
import type { HubRegistered } from "#shared/protocol/link/messages.ts";
import type { UpdateOrder } from "#shared/protocol/schema/updates.ts";
import { loadPlaywright } from "#worker/browser/actions/connect.ts";
import { bridgeHost, startBridges } from "#worker/browser/bridge/bridge.ts";
import type { FetchSettings } from "#worker/browser/fetch/fetch-context.ts";
import { runFetch } from "#worker/browser/fetch/run-fetch.ts";
import { createAssignments, RunStopped } from "#worker/browser/jobs/assignments.ts";
import { canLeaveLane } from "#worker/browser/jobs/late-uploads.ts";
import { runJob } from "#worker/browser/jobs/run-job.ts";
import { createLanePool } from "#worker/browser/lanes/pool.ts";
import { createEngines } from "#worker/browser/llm/engines.ts";
import { type HubFiles, openProfileCache } from "#worker/browser/profile/cache.ts";
import { cloneProfile } from "#worker/browser/profile/clone.ts";
import { applyProfile } from "#worker/browser/profile/profiles.ts";
import { runScripted } from "#worker/browser/scripted/run-scripted.ts";
import { createSessionDesk, type SessionDesk } from "#worker/browser/session/desk.ts";
import { createSessions } from "#worker/browser/session/types.ts";
import type { WorkerConfig } from "#worker/config.ts";
import { createEgress, type Egress } from "#worker/egress/egress.ts";
import { egressReport, egressSettings } from "#worker/egress/settings.ts";
import { lanAddress } from "#worker/link/address.ts";
import { startLink } from "#worker/link/client.ts";
import { type HubAddress, parseHubUrl } from "#worker/link/hub-url.ts";
import type { LinkSession } from "#worker/link/link-session.ts";
import { dispatch } from "#worker/program/dispatch.ts";
import { heldLanes } from "#worker/program/held-lanes.ts";
import { createHostLoad } from "#worker/program/host-load.ts";
import { createSelfReport } from "#worker/program/self-report.ts";
import { settleUploadBase } from "#worker/upload/base-url.ts";
import { createDirectWay, type DirectWay } from "#worker/upload/direct.ts";
import { createHttpSink } from "#worker/upload/http-sink.ts";
import { openKeptUploads } from "#worker/upload/kept.ts";
import { finishWork } from "./finish-work.ts";
import { startUpdates } from "./start-update.ts";
import { EXIT_UPDATED } from "./update/launched.ts";
import type { Updater } from "./update/updater.ts";
import { EXIT_WATCHDOG, startLinkWatchdog, startStallWatchdog } from "./update/watchdog.ts";
import type { WorkerDeps, WorkerParts } from "./worker-deps.ts";

/** A fleet whose loops stalled together does not come back in step (rules/workers#stall-watchdog). */
const EXIT_JITTER_MS = 60_000;
export interface RunningWorker {
  /** Drains in order: no new jobs, running ones to their end or the deadline, link (1001), lanes. Idempotent. */
  stop(): Promise<void>;
  /** Resolves with an exit code when the worker ends: 0 stopped, 42 to run another version, 70 watchdog. */
  exited: Promise<number>;
}

export const REAL_PARTS: WorkerParts = {
  ...{ createLanePool, runFetch, runScripted, startBridges },
  loadPlaywright: async () => void (await loadPlaywright()),
  random: Math.random,
};

/**
 * Starts lanes and link (rules/worker-link#link).
 * @throws ConfigError without HUB_URL; MissingProgramError (exit 3) when a program the lanes need is not installed.
 */
export async function startWorker(
  deps: WorkerDeps,
  parts: WorkerParts = REAL_PARTS,
): Promise<RunningWorker> {
  const { config, clock, version, signal } = deps;
  if (config.hub_url === null) throw new ConfigError("HUB_URL: is required to run a worker");
  const hub = parseHubUrl(config.hub_url);
  const address = await lanAddress(hub);
  const worker_id = config.worker_id ?? workerIdFromAddress(address);
  const log = deps.log.child({ worker_id });
  const scope = createScope(log);
  const exit = Promise.withResolvers<number>();
  try {
    const egress = createEgress(egressSettings(config), { clock, log });
    const pool = scope.add(
      "lanes",
      await parts.createLanePool({ config, log, clock, signal, egress }),
      (p) => p.close(),
    );
    const uploadBases = new WeakMap<Pick<LinkSession, "hub">, Promise<string>>();
    const directWays = new WeakMap<LinkSession, DirectWay>();
    const directWayOf = (session: LinkSession): DirectWay => {
      const way =
        directWays.get(session) ?? createDirectWay(session.hub.direct_uploads_from ?? null, clock);
      directWays.set(session, way);
      return way;
    };
    const profiles = await openProfileCache({
      dir: join(config.data_dir, "profiles"),
      max_bytes: config.profile_cache_bytes,
      clock,
      log,
    });
    const hubFiles = (session: Pick<LinkSession, "hub">): HubFiles => ({
      base_url: uploadBases.get(session) ?? Promise.resolve(hub.http),
      worker_id,
      upload_token: session.hub.upload_token,
    });
    const kept = await openKeptUploads(
      join(config.data_dir, "uploads"),
      config.fetch.spool_max_bytes,
    );
    const sessions = createSessions();
    const guard = egress.judge;
    /** The secret of the standing link; without one the bridges answer nobody. */
    let bridge_token: string | null = null;
    scope.add(
      "bridges",
      await parts.startBridges({
        host: bridgeHost(hub.host),
        base_port: config.novnc.base_port,
        vnc_port_base: config.lanes.vnc_port_base,
        cdp_port_base: config.lanes.cdp_port_base,
        lanes: config.lanes.count,
        headless: config.lanes.headless,
        sessions,
        refusalOfUrl: guard.refusalOfUrl,
        resizeScreen: pool.resizeScreen,
        vncSecret: pool.vncSecret,
        token: () => bridge_token,
        clock,
        log,
      }),
      (b) => b.close(),
    );
    const assignments = createAssignments({
      log,
      pool,
      max_concurrent: config.max_concurrent,
      others_in_flight: () => desk.count(),
      borrow: (message) => desk.borrow(message),
      run: (job) =>
        runJob(
          {
            clock,
            log,
            kept,
            upload_wait_ms: config.fetch.upload_wait_ms,
            sessionOf: ({ assignment, hold }) => desk.forJob(assignment, hold),
            profileFor: ({ assignment, session }, signal) => {
              const { extras, options } = assignment;
              const clone = options.clone_chrome_profile;
              if (typeof clone === "string")
                return cloneProfile(config.chrome_config_dir, clone, signal);
              const { profile } = extras;
              return profile && applyProfile(profiles, profile, hubFiles(session), signal);
            },
            runFetch: (run) => parts.runFetch(run, fetchSettings(config, egress, clock)),
            runScripted: (run) => parts.runScripted(run, fetchSettings(config, egress, clock)),
            openSink: (job, story) =>
              createHttpSink({
                base_url: uploadBases.get(job.session) ?? Promise.resolve(hub.http),
                worker_id,
                job_id: job.assignment.job_id,
                lease_token: job.assignment.lease_token,
                upload_token: job.session.hub.upload_token,
                isHubAway: () => job.session.is_cut,
                direct: directWayOf(job.session),
                can_wait: canLeaveLane(config.fetch.upload_wait_ms, job),
                story,
                clock,
                random: parts.random,
              }),
          },
          job,
        ),
    });
    const desk: SessionDesk = createSessionDesk({
      clock,
      log,
      pool,
      live: { sessions, clock, guard, log, download_max_bytes: config.fetch.spool_max_bytes },
      refusal: guard.checkUrl,
      reasonToRefuse: assignments.reasonToRefuse,
      profileFor: (session, profile, ended) =>
        applyProfile(profiles, profile, hubFiles(session), ended),
      hubFiles,
      engines: createEngines({ clock, secret: config.worker_secret }),
    });
    const in_flight = () => assignments.in_flight() + desk.count();
    const stopAll = (why: RunStopped) => {
      assignments.stopAll(why);
      desk.stopAll(why);
    };
    const wall_jumps = createWallJumps(clock, log);
    const report = createSelfReport({
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
      update: () => updater.report(),
      load: createHostLoad({ data_dir: config.data_dir, clock }),
    });
    const toldDraining = (why: string) => {
      assignments.refuse(why);
      report.drain(why);
      for (const lane of report.changedLanes()) link.session()?.send({ type: "LaneChanged", lane });
    };
    const updater: Updater = startUpdates(deps, scope, log, {
      sessions: desk.count,
      drain: async (why, until) => {
        toldDraining(why);
        const gone = new AbortController();
        void clock.sleep(Math.max(0, until - clock.monotonic()), gone.signal).then(() => {
          if (!gone.signal.aborted) desk.stopAll(new RunStopped("worker_stopping", why));
        });
        const sessions = desk.idle().finally(() => gone.abort());
        // An update never cuts jobs short.
        await Promise.all([assignments.idle(), sessions, deps.drainOthers?.()]);
      },
      exit: () => exit.resolve(EXIT_UPDATED),
    });
    let obeyed: UpdateOrder | null = null;
    const obey = (session: LinkSession, order: UpdateOrder) => {
      const { target, go } = order;
      obeyed = order;
      if (!go) return updater.held(target);
      updater.offered(target, async () => {
        const base_url = await uploadBases.get(session);
        return `${base_url ?? hub.http}/worker-source.tar.gz`;
      });
    };
    // A hub of an earlier version gives no orders: its own version must be taken at once (rules/updates#orders).
    const obeyHello = (session: LinkSession, said: HubRegistered) => {
      if (said.fleet_places) egress.tell(said.fleet_places);
      obey(session, said.update ?? { target: said.expected_worker_version, go: true });
    };
    const isNews = ({ target, go }: UpdateOrder) => obeyed?.target !== target || obeyed.go !== go;
    const link = scope.add(
      "link",
      startLink({
        url: hub.link(worker_id),
        clock,
        log,
        random: parts.random,
        registration: report.registration,
        heartbeat: () => {
          wall_jumps.look();
          return report.heartbeat();
        },
        holds: () => heldLanes(assignments, sessions),
        onRegistered: (session) => {
          uploadBases.set(session, uploadBase(session, hub, log));
          bridge_token = session.hub.upload_token;
          session.signal.addEventListener("abort", () => {
            if (bridge_token === session.hub.upload_token) bridge_token = null;
            stopAll(new RunStopped("link_lost", "the link to the hub was lost"));
          });
          deps.onRegistered?.();
          deps.onReady?.(`lanes of ${worker_id} are linked to ${hub.http}`);
          obeyHello(session, session.hub);
          for (const lane of report.changedLanes()) session.send({ type: "LaneChanged", lane });
        },
        onResumed: obeyHello,
        onMessage: (session, message) => {
          // Every acknowledgement repeats it: one that was on its way when the link was cut is not lost.
          if (message.type === "HubHeartbeatAck" && message.fleet_places)
            egress.tell(message.fleet_places);
          if (message.type === "HubHeartbeatAck" && message.update && isNews(message.update))
            obey(session, message.update);
          dispatch({ assignments, desk, log }, session, message);
        },
      }),
      (l) => l.stop(),
    );
    scope.add(
      "lane reports",
      pool.onChange((lane) => {
        link.session()?.send({ type: "LaneChanged", lane: report.laneAsTold(lane) });
      }),
      (stopListening) => stopListening(),
    );
    startWatchdogs();
    scope.add("preload", preload(parts.loadPlaywright, clock, log), (p) => p.stop());
    log.info({ hub: hub.http, version, lanes: pool.lanes().length }, "worker started");

    function startWatchdogs() {
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
          expire: () => {
            stopAll(new RunStopped("link_lost", "the hub was silent"));
            exit.resolve(EXIT_WATCHDOG);
          },
        }),
        (w) => w.stop(),
      );
    }

    const drain = async () => {
      log.info({ in_flight: in_flight() }, "worker draining");
      toldDraining("worker is stopping");
      const idle = Promise.all([assignments.idle(), desk.idle()]);
      await finishWork({ idle, stopAll, in_flight }, config.drain_ms, clock, log);
      await scope.close();
      log.info({}, "worker stopped");
      exit.resolve(0);
    };
    let stopping: Promise<void> | undefined;
    return {
      stop: () => {
        stopping ??= drain();
        return stopping;
      },
      exited: exit.promise,
    };
  } catch (err) {
    await scope.close();
    throw err;
  }
}

/** Long enough for the first job of a worker that was just started to be on its way. */
const PRELOAD_AFTER_MS = 3_000;

/** Otherwise the first session would wait up to a second for Playwright to load. */
function preload(load: () => Promise<void>, clock: Clock, log: Log) {
  const stopping = new AbortController();
  void clock.sleep(PRELOAD_AFTER_MS, stopping.signal).then(async () => {
    if (stopping.signal.aborted) return;
    await load().catch((err) => log.error({ err: errorMessage(err) }, "playwright not loaded"));
  });
  return { stop: async () => stopping.abort() };
}

const uploadBase = (session: LinkSession, hub: HubAddress, log: Log): Promise<string> =>
  settleUploadBase({
    public_base_url: session.hub.public_base_url,
    dialled: hub.http,
    expected_version: session.hub.expected_worker_version,
    log,
  });

const laneIndexes = (config: WorkerConfig) => [...Array(config.lanes.count).keys()];

/** Viewer bridges of the lanes (rules/lanes#viewer-links-of-a-lane); the hub inserts the address it sees. */
const viewerUrls = (config: WorkerConfig): string[] =>
  laneIndexes(config).map(
    (i) => `http://${config.novnc.public_host}:${config.novnc.base_port + i}/`,
  );

const fetchSettings = (config: WorkerConfig, egress: Egress, clock: Clock): FetchSettings => ({
  clock,
  spool_max_bytes: config.fetch.spool_max_bytes,
  judge: egress.judge,
  resolve: egress.resolve,
  upstream: egress.upstream,
  program_path: config.browser.environment.PATH,
});
