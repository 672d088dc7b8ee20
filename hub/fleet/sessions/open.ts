import type { HostRow } from "#hub/platform/db/rows.ts";
import { AppError, invalid, notFound } from "#shared/kit/errors.ts";
import { newSessionId } from "#shared/protocol/ids.ts";
import type { HubOpenSession } from "#shared/protocol/link/messages.ts";
import type { SentBrowser } from "#shared/protocol/link/sent-browser-options.ts";
import { mergeBrowserOptions } from "#shared/protocol/schema/browser-options.ts";
import type { WaitingFor } from "#shared/protocol/schema/job.ts";
import type { CreateSession } from "#shared/protocol/schema/session.ts";
import type { FleetContext } from "../context.ts";
import { distrustLane, freeLane, laneChanged } from "../links/lanes.ts";
import type { LanePlace } from "../links/parts.ts";
import { requireWayOut, wayOutFits } from "../links/way-out.ts";
import type { AssignAnswer, WorkerLink } from "../links/worker-link.ts";
import { browserFor, browserOptionsFor } from "../registries/browser-options.ts";
import type { SettingsContext } from "../registries/fleet-settings.ts";
import { hostForJob } from "../registries/hosts.ts";
import { requireHttpLogin } from "../registries/http-login.ts";
import { profileRef } from "../registries/profiles.ts";
import { recordModeOf } from "../registries/record-mode.ts";
import { closeOnLane } from "./end.ts";
import type { HubSession } from "./hub-session.ts";
import { addSession } from "./registry.ts";
import type { SessionAddContext, SessionOpenContext } from "./session-contexts.ts";
import { waitForLane } from "./waiting.ts";

/** A lane's Chromium may have to be replaced (another mode, a profile), and then its page loads. */
export const OPEN_MS = 60_000;
/** How many lanes to try in turn when a worker says that a lane is not free after all. */
const TRIES = 5;
/** After a 503 the client should try again in this many seconds. */
const RETRY_AFTER_S = 10;

/** 503 (rules/sessions#no-lane-for-a-session): nothing of the call is stored, and the client tries again. */
export const atCapacity = (waiting_for: WaitingFor | null = null): AppError =>
  new AppError("at_capacity", "fleet at capacity", {
    ...(waiting_for && { body: { waiting_for } }),
    headers: { "Retry-After": String(RETRY_AFTER_S) },
  });

export interface OpenOptions {
  /** Who asks for it, as the audit log calls them. */
  opened_by: string;
  /** Aborts when the client has gone: whatever it has taken by then is given back. */
  signal: AbortSignal;
  /** How long to wait for a lane. */
  wait_ms: number;
  /** Its place among the queued jobs (epoch ms); now by default. */
  since?: number;
  /** Aborts when another hub has a lane: nobody waits for one here any longer. */
  elsewhere?: AbortSignal;
  /** Whose settings count, with null nobody's; absent: those of the host that it begins at. */
  host?: HostRow | null;
  /** It is for one call alone, which opens this page itself; null: it brings its own. Absent: it is no such call. */
  one_shot_of?: string | null;
  /** Its worker must have a chromedriver. */
  webdriver?: boolean;
}

/**
 * Takes a lane of this hub's workers and opens a session on it (rules/sessions#open-a-session).
 * @returns null when there was none in time, or `elsewhere` aborted first.
 * @throws AppError not_found for an unknown worker_id, invalid when the page cannot be opened or the profile is unknown,
 *   relay_failed when the worker went away or cannot open it.
 */
export async function openSession(
  ctx: SessionOpenContext,
  input: CreateSession,
  {
    opened_by,
    signal,
    wait_ms,
    since,
    elsewhere,
    host: of_host,
    one_shot_of,
    webdriver,
  }: OpenOptions,
): Promise<HubSession | null> {
  const { worker_id } = input;
  if (worker_id !== null && !ctx.links.has(worker_id) && !(await ctx.db.workers.get(worker_id)))
    throw notFound("worker");
  // The default profile is for jobs (rules/profiles#default-profile): a session has the one it names.
  const { use_profile } = input;
  const profile = use_profile === null ? null : await profileRef(ctx, use_profile);
  const one_shot = one_shot_of !== undefined;
  const url = one_shot ? one_shot_of : input.url;
  const host = of_host === undefined ? await hostOfSession(ctx, { url }) : of_host;
  const proxy = proxyOfSession({ url, proxy: input.proxy, replay: input.replay }, host);
  // Every worker knows the viewport of a session.
  const way_out = { ...input, viewport: null, proxy: proxy.proxy, one_shot, webdriver };
  await requireWayOut(ctx, way_out, { loc: ["body"], only: worker_id });
  requireHttpLogin(ctx, input, ["body"]);
  const fits = wayOutFits(way_out);
  const session_id = newSessionId();
  const gone = AbortSignal.any([signal, ctx.stopping]);
  const enough = elsewhere ? AbortSignal.any([gone, elsewhere]) : gone;
  const until = ctx.clock.monotonic() + wait_ms;
  for (let tried = 0; tried < TRIES; tried += 1) {
    const left = Math.max(0, until - ctx.clock.monotonic());
    const place = await waitForLane(ctx, session_id, worker_id, fits, left, enough, since);
    if (!place && gone.aborted) throw stopped(ctx);
    if (!place) return null;
    const asked = { input, host, opened_by, kind: one_shot ? ("call" as const) : ("sdk" as const) };
    const session = await offerLane(ctx, place, asked, { profile, ...proxy }, gone);
    if (session) return session;
  }
  return null;
}

const stopped = (ctx: Pick<FleetContext, "stopping">): AppError =>
  ctx.stopping.aborted
    ? new AppError("unavailable", "hub is stopping", { headers: { "Retry-After": "5" } })
    : new AppError("unavailable", "the client has gone");

/** The session's own proxy, else that of the host it begins at; none where nothing is sent. */
function proxyOfSession(
  { url, proxy, replay }: Pick<CreateSession, "url" | "proxy" | "replay">,
  host: HostRow | null,
): Pick<HubOpenSession, "proxy" | "proxy_of"> {
  if (replay !== null || proxy !== null || url === null) return { proxy, proxy_of: "job" };
  return { proxy: host?.proxy ?? null, proxy_of: "host" };
}

/** The settings of the host that a session begins at. */
async function hostOfSession(
  ctx: Pick<FleetContext, "db" | "clock">,
  { url }: Pick<CreateSession, "url">,
): Promise<HostRow | null> {
  if (url === null || !URL.canParse(url)) return null;
  return (await hostForJob(ctx, new URL(url).hostname)).settings;
}

/** What was asked for, and by whom. */
interface Asked {
  readonly input: CreateSession;
  readonly host: HostRow | null;
  readonly opened_by: string;
  readonly kind: "sdk" | "call";
}

/** @returns null when the worker says that the lane was not free: another one may be. */
async function offerLane(
  ctx: SessionAddContext &
    Pick<FleetContext, "hooks" | "leases" | "settings_cache" | "signal" | "stopping">,
  place: LanePlace<null>,
  asked: Asked,
  more: Pick<HubOpenSession, "profile" | "proxy" | "proxy_of">,
  gone: AbortSignal,
): Promise<HubSession | null> {
  const { input, host } = asked;
  const { link, held, settle } = place;
  const { session_id, token: lease_token, lane_idx } = held.lease;
  const opened: { session?: Promise<HubSession> } = {};
  const answered = new Promise<AssignAnswer>((resolve) => {
    held.answer = (answer) => {
      // At once: the worker's next message may already say that the session has ended.
      if (answer.kind === "opened") opened.session = add(ctx, place, asked, more.proxy, answer);
      resolve(answer);
    };
  });
  const over = new AbortController();
  if (input.replay !== null) link.replays.add(input.replay);
  try {
    const mode = await recordModeOf(ctx, input.record, host);
    // The recording names the bodies.
    const record = input.capture && mode === "off" ? "events" : mode;
    const browser = await browserOfSession(ctx, link, asked);
    const sent = link.send({
      type: "HubOpenSession",
      session_id,
      lease_token,
      lane_idx,
      url: input.url,
      headless: input.headless,
      viewport: input.viewport,
      ...more,
      dialog_policy: input.dialog_policy,
      record,
      egress: input.egress,
      ...(input.replay !== null && { replay: input.replay }),
      ...(input.replay_clock === "capture" && { replay_clock: input.replay_clock }),
      ...(input.trace && { trace: true }),
      ...(input.capture && { capture: true }),
      ...(browser.browser_options && browser),
    });
    if (!sent) await freeLane(ctx, link, held);
    if (!sent) throw away(link.worker_id);
    const late = ctx.clock.sleep(OPEN_MS, AbortSignal.any([over.signal, gone])).then(() => null);
    const answer = await Promise.race([answered, late]);
    if (opened.session) return await opened.session;
    if (answer?.kind === "closed") throw away(link.worker_id);
    if (answer?.kind === "refused" && !answer.page) {
      ctx.log.warn({ session_id, lane_idx, reason: answer.reason }, "session refused");
      distrustLane(link, lane_idx, answer.reason);
      await freeLane(ctx, link, held);
      return null;
    }
    if (answer?.kind === "refused") {
      await lanePasses(ctx, place);
      throw invalid(["body", "url"], `cannot be opened: ${answer.reason}`, "page");
    }
    closeOnLane(link, held, gone.aborted ? "nobody waits for it" : "it took too long to open");
    if (gone.aborted) throw stopped(ctx);
    throw new AppError("timed_out", `the session did not open within ${OPEN_MS / 1_000} s`);
  } finally {
    over.abort();
    settle();
  }
}

/** What the worker is told of its browser. */
async function browserOfSession(
  ctx: SettingsContext & Pick<FleetContext, "log">,
  link: Pick<WorkerLink, "worker_id" | "capabilities">,
  { input, host, kind }: Pick<Asked, "input" | "host" | "kind">,
): Promise<SentBrowser> {
  // A call says all of it itself.
  const options =
    kind === "call" ? mergeBrowserOptions([input]) : await browserOptionsFor(ctx, input, host);
  // Where no device is named, it is that of the session's own field.
  const { viewport: _own, ...rest } = options ?? {};
  const merged = input.viewport && !options?.device ? mergeBrowserOptions([rest]) : options;
  const { told, troubles } = await browserFor(ctx, link, { asked: input, host, merged });
  for (const trouble of troubles) ctx.log.warn({}, trouble);
  return told;
}

const away = (worker_id: string): AppError =>
  new AppError("relay_failed", `worker ${worker_id} went away`);

const add = (
  ctx: SessionAddContext,
  { link, held }: LanePlace<null>,
  { input, opened_by, kind }: Asked,
  proxy: HubOpenSession["proxy"],
  { url, title }: { url: string; title: string },
): Promise<HubSession> => {
  const { session_id, lane_idx } = held.lease;
  const { worker_id } = link;
  ctx.log.info({ session_id, worker_id, lane_idx }, "session opened");
  return addSession(ctx, {
    session_id,
    kind,
    link,
    held,
    job_id: null,
    headless: input.headless,
    egress: input.egress,
    proxy,
    replay: input.replay,
    trace: input.trace,
    capture: input.capture,
    reconnect_ms: input.reconnect_s === null ? null : input.reconnect_s * 1_000,
    idle_ttl_ms: input.idle_ttl_s * 1_000,
    ttl_ms: input.ttl_s * 1_000,
    opened_by,
    url,
    title,
  });
};

/** The lane had begun: it resets, and is given back when it says warm; it may have said so already. */
async function lanePasses(
  ctx: Pick<FleetContext, "hooks" | "signal" | "leases" | "log">,
  { link, held }: LanePlace<null>,
): Promise<void> {
  held.accepted = held.done = true;
  const lane = link.lanes.get(held.lease.lane_idx);
  if (lane) await laneChanged(ctx, link, lane);
}
