import { findHub, type HubEntry, storeIsWhole } from "#hub/platform/cluster/hubs.ts";
import type { ClusterContext } from "#hub/platform/context.ts";
import { withDeadline } from "#shared/kit/clock.ts";
import { AppError, errorMessage } from "#shared/kit/errors.ts";
import { SESSION_ID } from "#shared/protocol/ids.ts";
import { KV_READ_TIMEOUT_MS } from "#shared/protocol/limits.ts";
import type { FleetContext } from "../context.ts";
import { keptLink, keptSession, renewSession } from "../links/kept.ts";
import { comingBack, type HubSession } from "./hub-session.ts";
import type { OwnerContext } from "./session-contexts.ts";

/** Where a session is: the value of `session:<id>` in the shared store. */
export interface SessionPlace {
  worker_id: string;
  lane_idx: number;
  job_id: string | null;
  hub_id: string;
}

/** How often the place is written again, so that an emptied store has it soon; after a hub dies it stays that long. */
export const PLACE_BEAT_MS = 30_000;
const PLACE_EXPIRY_MS = 90_000;

const keyOf = (session_id: string) => `session:${session_id}`;

/**
 * Tells every hub that the session is here. Never rejects: without the shared store this hub goes on with what it has
 * and says it again at the next beat.
 * @param as `taken`: the session is opened here, or taken up from another hub; `known`: a hub that took it up meanwhile
 *   keeps it.
 */
export async function publishPlace(
  ctx: Pick<FleetContext, "kv" | "hub_id" | "clock" | "log">,
  session: HubSession,
  as: "taken" | "known",
): Promise<void> {
  const { session_id, link, lane_idx, job_id } = session;
  const { kv, hub_id } = ctx;
  const place: SessionPlace = { worker_id: link.worker_id, lane_idx, job_id, hub_id };
  const key = keyOf(session_id);
  const written: Promise<unknown> =
    as === "taken"
      ? kv.set(key, place, PLACE_EXPIRY_MS)
      : kv.setIf(key, { hub_id }, place, PLACE_EXPIRY_MS);
  await withDeadline("the shared store", KV_READ_TIMEOUT_MS, written, ctx.clock).catch((err) =>
    ctx.log.warn({ session_id, err: errorMessage(err) }, "the session's place was not published"),
  );
}

/**
 * Publishes every place again (other hubs look sessions up: rules/cluster#sessions-across-hubs), and renews what the
 * next hub must know. Never rejects.
 */
export async function publishPlacesOnce(
  ctx: Pick<FleetContext, "clock" | "hub_id" | "kept" | "kv" | "log" | "sessions">,
): Promise<void> {
  const sessions = [...ctx.sessions.values()].filter(({ kind }) => kind !== "call");
  await Promise.all(sessions.map((session) => publishPlace(ctx, session, "known")));
  const renewals = sessions
    .filter(({ kind }) => kind !== "job")
    .map(({ session_id }) => renewSession(ctx, session_id));
  await withDeadline(
    "the shared store",
    KV_READ_TIMEOUT_MS,
    Promise.all(renewals),
    ctx.clock,
  ).catch((err) => ctx.log.warn({ err: errorMessage(err) }, "open sessions were not renewed"));
}

/** Whether some hub has the session, or had it 90 s ago. @throws AppError unavailable without the shared store */
export const hasPlace = async (
  ctx: Pick<FleetContext, "kv" | "clock">,
  session_id: string,
): Promise<boolean> => (await lookUp(ctx, ctx.kv.get<SessionPlace>(keyOf(session_id)))) !== null;

/** The session is over here. Never rejects: a place left behind names a session its hub does not know, also a 404. */
export async function withdrawPlace(
  ctx: Pick<FleetContext, "kv" | "hub_id" | "clock" | "log">,
  { session_id }: HubSession,
): Promise<void> {
  const withdrawn = ctx.kv.deleteIf(keyOf(session_id), { hub_id: ctx.hub_id });
  await withDeadline("the shared store", KV_READ_TIMEOUT_MS, withdrawn, ctx.clock).catch((err) =>
    ctx.log.warn({ session_id, err: errorMessage(err) }, "the session's place was not withdrawn"),
  );
}

/**
 * The other hub that has the session; null when no hub has it, or this one does. An id that names nothing costs two
 * reads of the shared store.
 * @throws AppError unavailable when the shared store does not answer, or has just been emptied: 404 is for good.
 */
export async function findOwner(ctx: OwnerContext, session_id: string): Promise<HubEntry | null> {
  if (ctx.sessions.has(session_id) || !SESSION_ID.test(session_id)) return null;
  const place = await lookUp(ctx, ctx.kv.get<SessionPlace>(keyOf(session_id)));
  if (!place) await demandWhole(ctx);
  if (!place || place.hub_id === ctx.hub_id) return null;
  const { hub_id } = place;
  const hub = await lookUp(ctx, findHub(ctx, hub_id));
  if (!hub) await demandWhole(ctx);
  // Its hub is gone, and its worker may be on its way to another hub for as long as the place is remembered.
  if (!hub && (await lookUp(ctx, mayComeBack(ctx, session_id, place)))) throw comingBack();
  // The hub stopped, or was silent for 90 s: the session is over for good (rules/sessions#ended-sessions-are-404).
  if (!hub) await ctx.kv.deleteIf(keyOf(session_id), { hub_id }).catch(() => false);
  return hub;
}

/**
 * An independent session is kept with its TTLs; a job's session lives and ends with the job, which the worker may
 * bring.
 */
const mayComeBack = async (
  ctx: Pick<FleetContext, "kept">,
  session_id: string,
  { worker_id, job_id }: SessionPlace,
) =>
  (await keptSession(ctx, session_id)) !== null ||
  (job_id !== null && (await keptLink(ctx, worker_id)) !== null);

/**
 * What the shared store lacks belongs to no hub only once all hubs have written their entries.
 * @throws AppError unavailable
 */
export async function demandWhole(ctx: ClusterContext): Promise<void> {
  if (await lookUp(ctx, storeIsWhole(ctx))) return;
  throw new AppError("unavailable", "the shared store was emptied; the hubs are filling it again", {
    headers: { "Retry-After": "5" },
  });
}

/**
 * A read of the shared store. @throws AppError unavailable when it takes longer than 1.5 s
 * (rules/cluster#calls-are-passed-on) or fails.
 */
export const lookUp = <T>(ctx: Pick<FleetContext, "clock">, read: Promise<T>): Promise<T> =>
  withDeadline("the shared store", KV_READ_TIMEOUT_MS, read, ctx.clock).catch((cause) => {
    throw new AppError("unavailable", "the shared store does not answer", {
      headers: { "Retry-After": "5" },
      cause,
    });
  });
