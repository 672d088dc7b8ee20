import { z } from "zod";
import { findHub, type HubEntry, otherHubs } from "#hub/platform/cluster/hubs.ts";
import type { Peer } from "#hub/platform/cluster/peers.ts";
import { passOn } from "#hub/platform/cluster/relay-http.ts";
import type { ClusterContext } from "#hub/platform/context.ts";
import { AppError, errorMessage } from "#shared/kit/errors.ts";
import { WEBDRIVER } from "#shared/protocol/limits.ts";
import { type CreateSession, Session } from "#shared/protocol/schema/session.ts";
import type { FleetContext } from "../context.ts";
import { betterHub } from "../links/candidate.ts";
import { hubShortage } from "../links/hub-shortage.ts";
import type { WorkerListContext } from "../links/link-contexts.ts";
import { laneShortage } from "../links/shortage.ts";
import { listWorkers } from "../links/view.ts";
import type { HubSession } from "./hub-session.ts";
import { findLinkHub } from "./link-hub.ts";
import { atCapacity, OPEN_MS, type OpenOptions, openSession } from "./open.ts";
import { lookUp } from "./places.ts";
import { listSessions } from "./read-sessions.ts";
import type { SessionAnywhereContext, SessionOpenContext } from "./session-contexts.ts";

/** How long another hub may take to say which sessions it has. */
const LIST_MS = 1_500;
/** What a hub answers that is asked for its open sessions. */
const OpenSessions = z.object({ sessions: z.array(Session) });
/** How often a call that waits here checks whether another hub has a lane. */
const LOOK_MS = 100;

export interface OpenCall {
  input: CreateSession;
  /** As they came; the hub that was asked first keeps the answer to an Idempotency-Key. */
  headers: Headers;
  body: string;
  signal: AbortSignal;
  opened_by: string;
  /** Another hub has asked this one: it serves the call itself. */
  passed_on: boolean;
  /** Absent: it is POST /sessions. */
  one_shot?: OneShotOpen;
  /** It is POST /session: the hub that has the lane answers as WebDriver does. */
  webdriver?: boolean;
}

/** A session for a one-shot call, which the hub that has the lane answers as a whole. */
interface OneShotOpen {
  /** Path and query of the call, for another hub. */
  path: string;
  /** The page that it opens; null: it brings its own. */
  url: string | null;
  /** How long it may take once it has a lane. */
  work_ms: number;
}

/**
 * POST /sessions: opens on the worker it names, else on the best candidate of the fleet
 * (rules/cluster#sessions-across-hubs), else on the first lane that becomes free at any hub within `submit_wait_ms`.
 * @returns the session, or the answer of the hub that has it.
 * @throws AppError as `openSession` does; at_capacity when no lane became free.
 */
export async function openAnywhere(
  ctx: SessionAnywhereContext,
  call: OpenCall,
): Promise<HubSession | Response> {
  const { input, passed_on } = call;
  const wait_ms = ctx.config.submit_wait_ms;
  const asked = askedBy(call);
  if (input.worker_id !== null) {
    const hub = passed_on ? null : await findLinkHub(ctx, input.worker_id);
    if (hub) return passOpenOn(ctx, hub, call, wait_ms);
    const session = await openSession(ctx, input, { ...asked, wait_ms });
    if (session) return session;
    throw await whyFull(ctx, input);
  }
  if (passed_on) return openPassedOn(ctx, call);
  const until = ctx.clock.monotonic() + wait_ms;
  /** Hubs that could not be reached; a hub cut off from this one may go on announcing its lanes. */
  const lost = new Set<string>();
  for (;;) {
    const better = await askBetter(ctx, call, lost);
    if (better) return better;
    const left = Math.max(0, until - ctx.clock.monotonic());
    const here = new AbortController();
    const elsewhere = new AbortController();
    void lookForBetter(ctx, lost, here.signal, elsewhere);
    try {
      const options = { ...asked, wait_ms: left, elsewhere: elsewhere.signal };
      const session = await openSession(ctx, input, options);
      if (session) return session;
    } finally {
      here.abort();
    }
    if (!elsewhere.signal.aborted || ctx.clock.monotonic() >= until)
      throw await whyFull(ctx, input);
  }
}

const askedBy = ({
  opened_by,
  signal,
  one_shot,
  webdriver = false,
}: OpenCall): Omit<OpenOptions, "wait_ms" | "elsewhere"> =>
  one_shot ? { opened_by, signal, one_shot_of: one_shot.url } : { opened_by, signal, webdriver };

/** The hub that passed it on does the waiting, for all hubs at once. */
async function openPassedOn(
  ctx: SessionOpenContext & Pick<FleetContext, "candidate">,
  call: OpenCall,
): Promise<HubSession> {
  try {
    return need(await openSession(ctx, call.input, { ...askedBy(call), wait_ms: 0 }));
  } finally {
    // For that hub a lane of this one is promised until it hears of its lanes again. One that is free again by then leaves
    // them as they were told last, which alone would not be told.
    ctx.candidate.tell();
  }
}

/** The 503 that says why there was no lane. */
async function whyFull(
  ctx: WorkerListContext & Pick<FleetContext, "disk_room" | "draining" | "meters">,
  { worker_id }: CreateSession,
): Promise<AppError> {
  const workers = await listWorkers(ctx).catch(() => null);
  const why = workers && (hubShortage(ctx, workers) ?? laneShortage(workers, worker_id));
  ctx.meters.refused.inc({ kind: "session", reason: why?.reason ?? "unknown" });
  return atCapacity(why);
}

const need = (session: HubSession | null): HubSession => {
  if (session) return session;
  throw atCapacity();
};

/** Aborts `found` once another hub has a better candidate than this one. */
async function lookForBetter(
  ctx: Parameters<typeof betterHub>[0],
  lost: ReadonlySet<string>,
  over: AbortSignal,
  found: AbortController,
): Promise<void> {
  while (!over.aborted && ctx.cluster.shared) {
    if (betterHub(ctx, lost)) return found.abort();
    await ctx.clock.sleep(LOOK_MS, over);
  }
}

/** The answer of the first hub with a better candidate that takes the call; null when none does. */
async function askBetter(
  ctx: ClusterContext & Pick<FleetContext, "disk_room" | "draining" | "links">,
  call: OpenCall,
  lost: Set<string>,
): Promise<Response | null> {
  for (let peer = betterHub(ctx, lost); peer; peer = betterHub(ctx, lost)) {
    // Not asked again until it announces its lanes again.
    peer.left += 1;
    const hub = await knownHub(ctx, peer);
    const answer =
      hub &&
      (await passOpenOn(ctx, hub, call, 0).catch((err: unknown) => {
        if (err instanceof AppError && err.kind === "relay_failed") return null;
        throw err;
      }));
    if (!answer) lost.add(peer.hub_id);
    else if (answer.status === 503) peer.best = null;
    // A hub of an earlier version has no such path.
    else if (answer.status === 404 && (call.one_shot || call.webdriver)) lost.add(peer.hub_id);
    else return answer;
  }
  return null;
}

const knownHub = (ctx: ClusterContext, { hub_id }: Peer): Promise<HubEntry | null> =>
  findHub(ctx, hub_id).catch(() => null);

function passOpenOn(
  ctx: ClusterContext,
  hub: HubEntry,
  { headers: given, body, signal, one_shot, webdriver }: OpenCall,
  wait_ms: number,
): Promise<Response> {
  const { work_ms = 0 } = one_shot ?? {};
  const headers = new Headers(given);
  for (const name of ["idempotency-key", "content-length"]) headers.delete(name);
  return passOn(ctx, hub, {
    method: "POST",
    path: one_shot?.path ?? (webdriver ? "/session" : "/sessions"),
    headers,
    body: new TextEncoder().encode(body),
    signal,
    answer_ms: wait_ms + OPEN_MS + LIST_MS + (webdriver ? WEBDRIVER.start_ms : 0) + work_ms,
  });
}

/**
 * GET /sessions of the whole fleet, oldest first. The hubs are asked in parallel; one that does not answer is left out.
 * @throws AppError unavailable when the shared store does not say which hubs there are.
 */
export async function listEverywhere(
  ctx: ClusterContext & Pick<FleetContext, "sessions" | "wall_jumps">,
  given: Headers,
  signal: AbortSignal,
): Promise<Session[]> {
  const headers = new Headers(given);
  headers.set("accept", "application/json");
  const hubs = ctx.cluster.shared ? await lookUp(ctx, otherHubs(ctx)) : [];
  const call = { method: "GET", path: "/sessions", headers, body: null, signal };
  const listOf = async (hub: HubEntry): Promise<Session[]> => {
    try {
      const answer = await passOn(ctx, hub, { ...call, answer_ms: LIST_MS });
      return OpenSessions.parse(await answer.json()).sessions;
    } catch (err) {
      ctx.log.warn({ hub: hub.hub_id, err: errorMessage(err) }, "a hub did not list its sessions");
      return [];
    }
  };
  const lists = await Promise.all(hubs.map(listOf));
  return [listSessions(ctx), ...lists]
    .flat()
    .sort((a, b) => (a.created_at < b.created_at ? -1 : a.created_at > b.created_at ? 1 : 0));
}
