import type { MiddlewareHandler } from "hono";
import { HTTPException } from "hono/http-exception";
import type { FleetContext } from "#hub/fleet/context.ts";
import { fleetProbes } from "#hub/fleet/metrics/fleet-probes.ts";
import { corsOrigins } from "#hub/fleet/registries/fleet-settings.ts";
import { attemptRoutes } from "#hub/fleet/routes/attempts.ts";
import { browserClientRoutes } from "#hub/fleet/routes/browser-clients.ts";
import { cdpPath } from "#hub/fleet/routes/cdp-addresses.ts";
import { comparisonRoutes } from "#hub/fleet/routes/comparison.ts";
import { directUploadRoutes } from "#hub/fleet/routes/direct-uploads.ts";
import { engineRoutes } from "#hub/fleet/routes/engines.ts";
import { extensionRoutes } from "#hub/fleet/routes/extension.ts";
import { figuresRoutes } from "#hub/fleet/routes/figures.ts";
import { fleetSettingRoutes } from "#hub/fleet/routes/fleet-settings.ts";
import { healthRoutes } from "#hub/fleet/routes/health.ts";
import { hostCookieRoutes } from "#hub/fleet/routes/host-cookies.ts";
import { hostRecipeRoutes } from "#hub/fleet/routes/host-recipes.ts";
import { hostRoutes } from "#hub/fleet/routes/hosts.ts";
import { jobEventRoutes } from "#hub/fleet/routes/job-events.ts";
import { jobFailureRoutes } from "#hub/fleet/routes/job-failures.ts";
import { jobFileRoutes } from "#hub/fleet/routes/job-files.ts";
import { jobLabelRoutes } from "#hub/fleet/routes/job-labels.ts";
import { jobScreenshotRoutes } from "#hub/fleet/routes/job-screenshot.ts";
import { jobRoutes } from "#hub/fleet/routes/jobs.ts";
import { libraryRoutes } from "#hub/fleet/routes/library.ts";
import { linkRoutes } from "#hub/fleet/routes/links.ts";
import { oneShotRoutes } from "#hub/fleet/routes/one-shots.ts";
import { toOwner } from "#hub/fleet/routes/pass-on.ts";
import { profileSaveRoutes } from "#hub/fleet/routes/profile-save.ts";
import { profileRoutes, profileUploadRoutes } from "#hub/fleet/routes/profiles.ts";
import { recordingExportRoutes } from "#hub/fleet/routes/recording-exports.ts";
import { recordingRoutes } from "#hub/fleet/routes/recordings.ts";
import { searchRoutes } from "#hub/fleet/routes/search.ts";
import { sessionActionRoutes } from "#hub/fleet/routes/session-actions.ts";
import { sessionBodyRoutes } from "#hub/fleet/routes/session-bodies.ts";
import { sessionCookieRoutes } from "#hub/fleet/routes/session-cookies.ts";
import { sessionFileRoutes } from "#hub/fleet/routes/session-files.ts";
import { sessionRecordInputRoutes } from "#hub/fleet/routes/session-record-input.ts";
import { sessionThumbnailRoutes } from "#hub/fleet/routes/session-thumbnail.ts";
import { sessionTraceRoutes } from "#hub/fleet/routes/session-traces.ts";
import { liveSessionsOnly, sessionRoutes } from "#hub/fleet/routes/sessions.ts";
import { submitByPathRoutes } from "#hub/fleet/routes/submit-by-path.ts";
import { viewerRoutes } from "#hub/fleet/routes/viewer.ts";
import { watchRoutes } from "#hub/fleet/routes/watches.ts";
import { importRoutes, webArchiveRoutes } from "#hub/fleet/routes/web-archive.ts";
import { webDriverPath } from "#hub/fleet/routes/webdriver-addresses.ts";
import { workerLinkRoutes } from "#hub/fleet/routes/worker-link.ts";
import { workerProfileRoutes } from "#hub/fleet/routes/worker-profiles.ts";
import { workerRecordingRoutes } from "#hub/fleet/routes/worker-recordings.ts";
import { workerReplayRoutes } from "#hub/fleet/routes/worker-replays.ts";
import { workerSourceRoutes } from "#hub/fleet/routes/worker-source.ts";
import { workerUploadRoutes } from "#hub/fleet/routes/worker-uploads.ts";
import { workerRoutes } from "#hub/fleet/routes/workers.ts";
import { toldAsWebDriver } from "#hub/fleet/webdriver/told-error.ts";
import { guideRoutes } from "#hub/guide/routes.ts";
import { controlRoutes } from "#hub/pipeline/app.ts";
import type { PipelineContext } from "#hub/pipeline/context.ts";
import { pipelineProbes } from "#hub/pipeline/metrics/pipeline-probes.ts";
import { auditRoutes } from "#hub/platform/access/routes/audit.ts";
import { tokenRoutes } from "#hub/platform/access/routes/tokens.ts";
import { peerNames } from "#hub/platform/cluster/hubs.ts";
import { relayGuesses } from "#hub/platform/cluster/relay-guesses.ts";
import { passedOnBy } from "#hub/platform/cluster/relay-mark.ts";
import { access, routeTable } from "#hub/platform/http/access.ts";
import { accessLog } from "#hub/platform/http/access-log.ts";
import { audited } from "#hub/platform/http/audited.ts";
import { corsFor } from "#hub/platform/http/cors.ts";
import { addDocs } from "#hub/platform/http/docs.ts";
import type { HttpEnv } from "#hub/platform/http/env.ts";
import { type GateDeps, gate } from "#hub/platform/http/gate.ts";
import { metricsRoutes } from "#hub/platform/http/metrics-route.ts";
import { type App, newApp } from "#hub/platform/http/new-app.ts";
import { onError, type ToldOtherwise } from "#hub/platform/http/on-error.ts";
import type { OriginRule } from "#hub/platform/http/origins.ts";
import { type HostRule, ownHostsOnly } from "#hub/platform/http/own-hosts.ts";
import { probeRoutes } from "#hub/platform/http/probes.ts";
import { savedListRoutes } from "#hub/platform/saved-lists/routes.ts";
import { tracedCalls } from "#hub/platform/tracing/traced-calls.ts";
import { uiRoutes } from "#hub/ui/routes.ts";
import type { ProgramContext } from "./context.ts";
import { mcpRoutes } from "./mcp/routes.ts";

type BaseDeps = Pick<
  FleetContext,
  | "config"
  | "log"
  | "clock"
  | "access_log"
  | "call_counts"
  | "tracer"
  | "audit"
  | "changes"
  | "disk_room"
  | "admin"
  | "tokens"
  | "logins"
  | "throttle"
  | "own_names"
>;

/** Added when the server is one of several. */
interface Fleet {
  readonly signed_links: GateDeps["signed_links"];
  readonly hosts: Pick<HostRule, "peerNames" | "isPassedOn">;
  readonly passOn: GateDeps["passOn"];
  /** By which path a call is routed. */
  readonly pathOf: (request: Request) => string;
  /** Errors of paths that have a form of their own. */
  readonly toldOtherwise: ToldOtherwise;
  /** Judges what says that another hub passed it on. */
  readonly relayed: MiddlewareHandler<HttpEnv>;
}

/**
 * An app with everything that each call passes through: one log line, one error shape, the host check, and the gate of
 * all routes.
 */
function baseApp(
  {
    config,
    log,
    clock,
    access_log,
    call_counts,
    tracer,
    audit,
    changes,
    disk_room,
    own_names,
    ...who
  }: BaseDeps,
  allowed: OriginRule["allowed"],
  fleet?: Fleet,
): App {
  const app = newApp(fleet?.pathOf);
  const public_host = config.public_base_url && new URL(config.public_base_url).host;
  const origins = { allowed, public_host };
  app.onError(onError(log, fleet?.toldOtherwise));
  app.notFound((c) => c.json({ detail: "no such path" }, 404));
  app.use(accessLog(access_log, call_counts, () => config.logs_access));
  if (tracer) app.use(tracedCalls(tracer));
  app.use(audited({ audit, isPassedOn: fleet?.hosts.isPassedOn }));
  if (fleet) app.use(fleet.relayed);
  app.use(ownHostsOnly({ log, clock, config, own_names, ...fleet?.hosts }));
  app.use(corsFor(allowed));
  const { passOn, signed_links } = fleet ?? {};
  const { admin, tokens, logins, throttle } = who;
  const judges = { secrets: config, admin, tokens, logins, throttle, signed_links };
  app.use(gate({ ...judges, origins, changes, disk_room, passOn }));
  return app;
}

/**
 * Calls from another hub were already judged there, if that hub proves itself; without a secret anybody could claim to
 * be one.
 */
const fleetOf = (ctx: FleetContext): Fleet => ({
  signed_links: ctx.signed_links,
  hosts: {
    ...(ctx.cluster.shared && { peerNames: () => peerNames(ctx) }),
    isPassedOn: (headers) => ctx.config.worker_secret !== null && passedOnBy(ctx, headers) !== null,
  },
  passOn: toOwner(ctx),
  pathOf: (request) => webDriverPath(cdpPath(request)),
  toldOtherwise: toldAsWebDriver,
  relayed: relayGuesses(ctx),
});

/**
 * Answers 405 with Allow for paths that exist, to callers whom the path's first route would let in. Call
 * it after the last route but the catch-all.
 */
function refuseOtherMethods(app: App): void {
  const paths = Map.groupBy(routeTable(app), ({ path }) => path);
  for (const [path, rows] of paths) {
    const [first] = rows;
    if (path.includes("*") || first === undefined) continue;
    const methods = rows.map(({ method }) => method);
    const allow = [...methods, ...(methods.includes("GET") ? ["HEAD"] : [])].sort().join(", ");
    const refuse: MiddlewareHandler<HttpEnv> = async (c) => {
      c.header("Allow", allow);
      throw new HTTPException(405, { message: "method not allowed" });
    };
    const { access: who, proof, also, opens, owner } = first.rules;
    app.all(path, access({ access: who, proof, also, opens, owner }), refuse);
  }
}

const INFO = {
  title: "Flotilla",
  description:
    "Any call may be answered with 400 (its body is nested too deep), 403 (a page of another origin sent it), 405 (the path has " +
    "no such method) or 429 (too many wrong tokens came from its address). Who may call what is `x-access`. Among several hubs, calls " +
    "of sessions and workers are passed on to the hub that has them, which may end in " +
    "502, 503 or 504. Errors are {detail}. Calls that change something may carry Idempotency-Key: the same key and body within " +
    "24 h get the first answer, and another body gets 409 (among administrators' calls only deploys and " +
    "PATCH /settings, among workers' none).",
};

/** The pipeline's part of the description. */
const PIPELINE = {
  path: "/api/v1/openapi.json",
  prefix: "/api/v1/",
  title: "Flotilla pipeline",
};

/** The hub's HTTP side: the fleet at flat paths, the control plane below /api/v1 (rules/http#addresses). */
export function createHubApp(ctx: ProgramContext): App {
  const app = baseApp(ctx, () => corsOrigins(ctx), fleetOf(ctx));
  app.use("/sessions/:sid/*", liveSessionsOnly(ctx));
  const parts = [
    healthRoutes(ctx),
    probeRoutes(fleetProbes(ctx)),
    metricsRoutes(ctx),
    figuresRoutes(ctx),
    jobFailureRoutes(ctx),
    jobRoutes(ctx),
    jobLabelRoutes(ctx),
    attemptRoutes(ctx),
    jobFileRoutes(ctx),
    comparisonRoutes(ctx),
    webArchiveRoutes(ctx),
    importRoutes(ctx),
    jobScreenshotRoutes(ctx),
    jobEventRoutes(ctx),
    watchRoutes(ctx),
    workerRoutes(ctx),
    sessionRoutes(ctx),
    searchRoutes(ctx),
    sessionActionRoutes(ctx),
    oneShotRoutes(ctx),
    sessionCookieRoutes(ctx),
    sessionRecordInputRoutes(ctx),
    sessionFileRoutes(ctx),
    hostRoutes(ctx),
    hostRecipeRoutes(ctx),
    hostCookieRoutes(ctx),
    viewerRoutes(ctx),
    ...browserClientRoutes(ctx),
    linkRoutes(ctx),
    workerLinkRoutes(ctx),
    workerUploadRoutes(ctx),
    directUploadRoutes(ctx),
    recordingRoutes(ctx),
    recordingExportRoutes(ctx),
    workerRecordingRoutes(ctx),
    sessionTraceRoutes(ctx),
    sessionThumbnailRoutes(ctx),
    sessionBodyRoutes(ctx),
    workerSourceRoutes(ctx),
    extensionRoutes(),
    profileRoutes(ctx),
    profileUploadRoutes(ctx),
    profileSaveRoutes(ctx),
    workerProfileRoutes(ctx),
    workerReplayRoutes(ctx),
    engineRoutes(ctx),
    ...libraryRoutes(ctx),
    fleetSettingRoutes(ctx),
    tokenRoutes(ctx),
    auditRoutes(ctx),
    savedListRoutes(ctx),
    mcpRoutes(ctx, () => app),
    uiRoutes(ctx, {
      fleet: true,
      stopping: ctx.stopping,
      links: { health: "/health", jobs: "/jobs", workers: "/workers" },
    }),
    controlRoutes({ ...ctx, log: ctx.log.child({ service: "control" }) }),
  ];
  for (const part of [...parts, guideRoutes(ctx)]) app.route("/", part);
  addDocs(app, { ...INFO, version: ctx.version }, [PIPELINE]);
  refuseOtherMethods(app);
  app.route("/", submitByPathRoutes(ctx));
  routeTable(app);
  return app;
}

/** Only the control plane. */
export function createControlApp(ctx: PipelineContext): App {
  const app = baseApp(ctx, async () => ctx.config.cors_origins);
  app.route("/", controlRoutes(ctx));
  app.route("/", probeRoutes(pipelineProbes(ctx)));
  app.route("/", metricsRoutes(ctx));
  app.route("/", workerSourceRoutes(ctx));
  app.route("/", tokenRoutes(ctx));
  app.route("/", auditRoutes(ctx));
  app.route("/", savedListRoutes(ctx));
  app.route("/", guideRoutes(ctx));
  app.route(
    "/",
    uiRoutes(ctx, {
      fleet: false,
      stopping: ctx.pipeline.stopping,
      links: { health: "/api/v1/health", status: "/api/v1/status" },
    }),
  );
  addDocs(app, { ...INFO, version: ctx.version }, [PIPELINE]);
  refuseOtherMethods(app);
  return app;
}
