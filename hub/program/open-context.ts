import { join } from "node:path";
import { settleScripts } from "#hub/fleet/codegen/run-scripted.ts";
import { SCRIPT_TOOLS } from "#hub/fleet/codegen/tools.ts";
import { createComparisons } from "#hub/fleet/compare/compare-jobs.ts";
import type { FleetContext } from "#hub/fleet/context.ts";
import { createArrivals } from "#hub/fleet/jobs/arrivals.ts";
import { createJobBus } from "#hub/fleet/jobs/bus.ts";
import { createDispatcher } from "#hub/fleet/jobs/dispatcher.ts";
import { afterGapOnce, hubMessage } from "#hub/fleet/jobs/hub-messages.ts";
import { dispatchOnce } from "#hub/fleet/jobs/passes.ts";
import { newScripted } from "#hub/fleet/jobs/scripted.ts";
import { createWebhooks } from "#hub/fleet/jobs/webhook.ts";
import { noneAwaited } from "#hub/fleet/links/awaited.ts";
import { createCandidateTeller } from "#hub/fleet/links/candidate.ts";
import { dropLink, leaveLink } from "#hub/fleet/links/registry.ts";
import { canBeLeft, linkFarewell } from "#hub/fleet/links/take-up.ts";
import type { WorkerLink } from "#hub/fleet/links/worker-link.ts";
import { createFleetMeters } from "#hub/fleet/metrics/fleet-meters.ts";
import { addFleetReadings } from "#hub/fleet/metrics/fleet-readings.ts";
import { sealLeftParts } from "#hub/fleet/recordings/keep.ts";
import { openParts } from "#hub/fleet/recordings/open-parts.ts";
import { createThumbnailTurns } from "#hub/fleet/recordings/thumbnail/turns.ts";
import { createVideoExports, sweepExports } from "#hub/fleet/recordings/video/exports.ts";
import { profileKey } from "#hub/fleet/registries/profiles.ts";
import { closeSandboxes } from "#hub/fleet/runner/sandbox.ts";
import { sweepScratch } from "#hub/fleet/runner/scratch.ts";
import { publishPlacesOnce } from "#hub/fleet/sessions/places.ts";
import { browserPart } from "#hub/fleet/updates/browsers.ts";
import { createWatching } from "#hub/fleet/watches/watching.ts";
import { addPipelineMetrics } from "#hub/pipeline/metrics/pipeline-metrics.ts";
import { openOperations } from "#hub/pipeline/operations/start.ts";
import { pullPart } from "#hub/pipeline/pull/updates.ts";
import { openAccess } from "#hub/platform/access/access.ts";
import { createSignedLinks } from "#hub/platform/access/links/signed-links.ts";
import { createChanges } from "#hub/platform/changes.ts";
import { createCluster } from "#hub/platform/cluster/cluster.ts";
import { hubVersions } from "#hub/platform/cluster/hubs.ts";
import { createCallCounts } from "#hub/platform/http/call-counts.ts";
import { createRunningCalls } from "#hub/platform/idempotency/running-calls.ts";
import { createRollout } from "#hub/platform/rollout/rollout.ts";
import { openSealedDb } from "#hub/platform/secrets/open-sealed.ts";
import { sealOlder } from "#hub/platform/secrets/seal-older.ts";
import { sealedObjects } from "#hub/platform/secrets/sealed-objects.ts";
import { sealedSettings } from "#hub/platform/secrets/sealed-settings.ts";
import { openUpdateKey } from "#hub/platform/secrets/update-key.ts";
import { openKeptFiles } from "#hub/platform/stores/kept-files.ts";
import type { SharedStores } from "#hub/platform/stores/open-shared.ts";
import type { Scope } from "#shared/kit/scope.ts";
import { createWallJumps } from "#shared/kit/wall-jumps.ts";
import { newToken } from "#shared/protocol/ids.ts";
import { HUB_STOPPING_REASON, LINK_CLOSE } from "#shared/protocol/link/close.ts";
import type { LinkEndContext } from "../fleet/links/link-contexts.ts";
import type { ProgramContext } from "./context.ts";
import { createFleetHooks } from "./fleet-hooks.ts";
import { addHealthMetrics } from "./health-metrics.ts";
import type { ServeDeps } from "./hub-deps.ts";
import {
  alone,
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

/** Opens what is stored and who is let in, each closed after what is opened later. */
async function openStores(deps: ServeDeps, hub_id: string, scope: Scope) {
  const { config, log, clock } = deps;
  const sealed = await openSealedDb({ config, log, clock, as_hub: alone(deps) });
  const { keys, stored_hosts } = sealed;
  const db = scope.add("db", sealed.db, (d) => d.close());
  const operations = await openOperations({ ...deps, db }, scope);
  const audit = openAudit(deps, db, hub_id, scope);
  const objects = scope.add("objects", await openObjectsOf(deps), (o) => o.close());
  if (keys !== null) {
    const older = { ...deps, db: { ...db, hosts: stored_hosts }, objects, keys, profileKey };
    scope.add("secrets of earlier versions", sealOlder(older), (s) => s.stop());
  }
  const shared = await openSharedOf(deps, scope);
  const who = await openAccess({ ...deps, db, kv: shared.kv }, scope);
  const pipeline = await openPipeline(deps, db, shared, scope);
  return { keys, db, operations, audit, objects, shared, who, pipeline };
}

/** The other hubs, and what this one does when it hears of them. */
function openCluster(
  deps: ServeDeps,
  hub_id: string,
  { pubsub }: SharedStores,
  ctxOf: () => ProgramContext,
) {
  const { clock, log } = deps;
  const failed = (err: unknown) => log.error({ err }, "a message from another hub was not handled");
  return createCluster({
    hub_id,
    clock,
    log,
    pubsub,
    shared: !alone(deps),
    hear: (message) => void hubMessage(ctxOf(), message).catch(failed),
    met: () => {
      for (const link of ctxOf().links.values()) link.untold = true;
      ctxOf().candidate.tell();
    },
    gap: () => {
      void afterGapOnce(ctxOf());
      void publishPlacesOnce(ctxOf());
    },
  });
}

/** What the fleet holds in this process. */
type Held =
  | "awaited"
  | "advertise"
  | "relays"
  | "links"
  | "handshakes"
  | "sessions"
  | "session_calls"
  | "lanes_wanted"
  | "previews"
  | "thumbnail_turns"
  | "fleet_cache"
  | "settings_cache"
  | "waiters"
  | "scripted"
  | "unstored"
  | "profile_writers"
  | "streams";

const nothingYet = (): Pick<FleetContext, Held> => ({
  awaited: noneAwaited(),
  advertise: { url: "", port: null },
  relays: { calls: 0 },
  links: new Map(),
  handshakes: new Map(),
  sessions: new Map(),
  session_calls: new Map(),
  lanes_wanted: new Set(),
  previews: new Map(),
  thumbnail_turns: createThumbnailTurns(),
  fleet_cache: { last: null },
  settings_cache: new Map(),
  waiters: new Map(),
  scripted: newScripted(),
  unstored: new Map(),
  profile_writers: new Map(),
  streams: new Set(),
});

/** The last that was opened is closed first. */
function closeWith(scope: Scope, ctx: ProgramContext, stopping: AbortController): void {
  scope.add("script sandboxes", ctx.config.data_dir, closeSandboxes);
  scope.add("scripts", ctx, settleScripts);
  scope.add("cluster", ctx.cluster, (c) => c.stop());
  scope.add("webhooks", ctx.webhooks, (w) => w.stop());
  scope.add("captures being compared", ctx.watching, (w) => w.stop());
  scope.add("candidate", ctx.candidate, (t) => t.stop());
  scope.add("event streams", ctx.streams, (streams) =>
    Promise.all([...streams].map((end) => end())),
  );
  scope.add("videos of recordings", ctx.video_exports, (e) => e.stop());
  scope.add("links", ctx, closeLinks);
  scope.add("dispatcher", ctx.dispatcher, (d) => d.stop());
  scope.add("stop signal", stopping, (s) => s.abort());
  scope.add("waiting claims of the pipeline", ctx.pipeline, (p) => p.stopWaiting());
}

/** Opens the stores and builds the context. `beforeStores` is closed after the links and before the stores. */
export async function openContext(
  deps: ServeDeps,
  scope: Scope,
  draining: AbortSignal,
  beforeStores: () => Promise<void>,
): Promise<ProgramContext> {
  const { config, log, clock, version } = deps;
  const stopping = new AbortController();
  const hub_id = newToken().slice(0, 12);
  const stores = await openStores(deps, hub_id, scope);
  const { keys, db, objects, shared, who } = stores;
  scope.add("connections", beforeStores, (close) => close());
  const changes = createChanges();
  const rollout = createRollout({
    ...deps,
    ...db,
    changes,
    hubVersions: () => hubVersions(ctx, ctx),
  });
  const ctx: ProgramContext = {
    ...nothingYet(),
    config,
    log,
    clock,
    wall_jumps: createWallJumps(clock, log),
    random: deps.random ?? Math.random,
    version,
    hub_id,
    own_names: namesOf(deps),
    cluster: openCluster(deps, hub_id, shared, () => ctx),
    candidate: createCandidateTeller(clock, () => ctx),
    db,
    kv: shared.kv,
    leases: shared.leases,
    pubsub: shared.pubsub,
    kept: alone(deps) ? openKeptFiles(join(config.data_dir, "kept")) : shared.kv,
    objects,
    disk_room: await openDiskRoom(deps),
    recordings: openParts(config.data_dir),
    video_exports: createVideoExports(() => ctx),
    profile_archives: keys ? sealedObjects(objects, keys) : objects,
    update_key: await openUpdateKey(db.settings, keys, { makes: true, now: clock.now(), log }),
    pipeline: stores.pipeline,
    operations: stores.operations,
    rollout,
    ...who,
    audit: stores.audit,
    signed_links: createSignedLinks({
      settings: keys ? sealedSettings(db.settings, keys) : db.settings,
      tokens: who.tokens,
      clock,
    }),
    access_log: deps.access_log,
    stores_health: openStoresHealth(deps, db, objects),
    ...openCounts(deps),
    tracer: openTracer(deps, shared.kv, scope),
    hooks: createFleetHooks(() => ctx),
    bus: createJobBus(() => ctx),
    dispatcher: createDispatcher(log, () => dispatchOnce(ctx)),
    webhooks: createWebhooks(() => ctx),
    comparisons: createComparisons(() => ctx),
    watching: createWatching(() => ctx),
    changes,
    arrivals: createArrivals(clock),
    script_tools: { ...SCRIPT_TOOLS, ...deps.script_tools },
    running_calls: createRunningCalls({ clock, db }),
    draining,
    stopping: stopping.signal,
    signal: deps.signal ?? (() => {}),
  };
  rollout.addPart(browserPart(ctx, rollout));
  rollout.addPart(pullPart(ctx));
  addMetrics(ctx);
  deps.onContext?.(ctx);
  sweepScratch(ctx.config.data_dir);
  void sweepExports(ctx);
  void sealLeftParts(ctx).catch((err) => log.warn({ err }, "open recordings were not sealed"));
  closeWith(scope, ctx, stopping);
  return ctx;
}

/** What a scrape reads of each part. */
function addMetrics(ctx: ProgramContext): void {
  addFleetReadings(ctx);
  addPipelineMetrics(ctx);
  addHealthMetrics(ctx);
}

function openCounts(deps: ServeDeps) {
  const metrics = openMetrics(deps);
  const call_counts = createCallCounts(metrics);
  return { metrics, call_counts, meters: createFleetMeters(metrics) };
}

async function closeLinks(ctx: LinkEndContext & Pick<FleetContext, "handshakes">): Promise<void> {
  const { code, reason } = linkFarewell(ctx);
  for (const socket of ctx.handshakes.keys()) socket.close(code, reason);
  const close = (link: WorkerLink) =>
    canBeLeft(ctx, link)
      ? leaveLink(ctx, link)
      : dropLink(ctx, link, LINK_CLOSE.going_away, HUB_STOPPING_REASON, "stopping");
  await Promise.all([...ctx.links.values()].map(close));
}
