import { join } from "node:path";
import { settleScripts } from "#hub/fleet/codegen/run-scripted.ts";
import { SCRIPT_TOOLS } from "#hub/fleet/codegen/tools.ts";
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
import { profileKey } from "#hub/fleet/registries/profiles.ts";
import { closeSandboxes } from "#hub/fleet/runner/sandbox.ts";
import { sweepScratch } from "#hub/fleet/runner/scratch.ts";
import { publishPlacesOnce } from "#hub/fleet/sessions/places.ts";
import { browserPart } from "#hub/fleet/updates/browsers.ts";
import { openOperations } from "#hub/pipeline/operations/start.ts";
import { pullPart } from "#hub/pipeline/pull/updates.ts";
import { openAccess } from "#hub/platform/access/access.ts";
import { createSignedLinks } from "#hub/platform/access/links/signed-links.ts";
import { createChanges } from "#hub/platform/changes.ts";
import { createCluster } from "#hub/platform/cluster/cluster.ts";
import { hubVersions } from "#hub/platform/cluster/hubs.ts";
import { createRunningCalls } from "#hub/platform/idempotency/running-calls.ts";
import { createRollout } from "#hub/platform/rollout/rollout.ts";
import { openSealedDb } from "#hub/platform/secrets/open-sealed.ts";
import { sealOlder } from "#hub/platform/secrets/seal-older.ts";
import { sealedObjects } from "#hub/platform/secrets/sealed-objects.ts";
import { sealedSettings } from "#hub/platform/secrets/sealed-settings.ts";
import { openUpdateKey } from "#hub/platform/secrets/update-key.ts";
import { openKeptFiles } from "#hub/platform/stores/kept-files.ts";
import type { Scope } from "#shared/kit/scope.ts";
import { createWallJumps } from "#shared/kit/wall-jumps.ts";
import { newToken } from "#shared/protocol/ids.ts";
import { HUB_STOPPING_REASON, LINK_CLOSE } from "#shared/protocol/link/close.ts";
import type { ProgramContext } from "./context.ts";
import { createFleetHooks } from "./fleet-hooks.ts";
import type { ServeDeps } from "./hub-deps.ts";
import {
  alone,
  namesOf,
  openAudit,
  openObjectsOf,
  openPipeline,
  openSharedOf,
  openStoresHealth,
} from "./open-parts.ts";

/** Opens the stores and builds the context. `beforeStores` is closed after the links and before the stores. */
export async function openContext(
  deps: ServeDeps,
  scope: Scope,
  draining: AbortSignal,
  beforeStores: () => Promise<void>,
): Promise<ProgramContext> {
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
  const ctx: ProgramContext = {
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
      tokens: who.tokens,
      clock,
    }),
    access_log: deps.access_log,
    fleet_cache: { last: null },
    stores_health: openStoresHealth(deps, db, objects),
    hooks: createFleetHooks(() => ctx),
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

async function closeLinks(ctx: FleetContext): Promise<void> {
  const { code, reason } = linkFarewell(ctx);
  for (const socket of ctx.handshakes.keys()) socket.close(code, reason);
  const close = (link: WorkerLink) =>
    canBeLeft(ctx, link)
      ? leaveLink(ctx, link)
      : dropLink(ctx, link, LINK_CLOSE.going_away, HUB_STOPPING_REASON, "stopping");
  await Promise.all([...ctx.links.values()].map(close));
}
