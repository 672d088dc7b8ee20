import type { Context } from "hono";
import { findHub, type HubEntry } from "#hub/platform/cluster/hubs.ts";
import { passOn } from "#hub/platform/cluster/relay-http.ts";
import { passedOnBy } from "#hub/platform/cluster/relay-mark.ts";
import { dialHub, type PassedSocket, relayedSocket } from "#hub/platform/cluster/relay-socket.ts";
import type { ClusterContext } from "#hub/platform/context.ts";
import type { Owner } from "#hub/platform/http/access.ts";
import type { HttpEnv } from "#hub/platform/http/env.ts";
import { addressOf } from "#hub/platform/http/require-admin.ts";
import { isUpgrade, upgrade } from "#hub/platform/http/sockets.ts";
import { withCurrentTrace } from "#hub/platform/tracing/current-trace.ts";
import { AppError } from "#shared/kit/errors.ts";
import { parseJson } from "#shared/kit/json.ts";
import {
  isSessionAction,
  SESSION_ACTIONS,
  type SessionActionName,
} from "#shared/protocol/actions/session-actions.ts";
import {
  ACTION_GRACE_MS,
  ACTION_TIMEOUT_S,
  MAX_JSON_BODY_BYTES,
  WEBDRIVER,
} from "#shared/protocol/limits.ts";
import type { FleetContext } from "../context.ts";
import { getRow } from "../jobs/read-jobs.ts";
import { findLinkHub } from "../sessions/link-hub.ts";
import { findOwner } from "../sessions/places.ts";
import { SAVE_MS } from "../sessions/save-profile.ts";
import type { OwnerContext } from "../sessions/session-contexts.ts";

type C = Context<HttpEnv>;

/** Longer than the other hub's own deadlines: that hub should be the one that says what was too slow. */
const RELAY_GRACE_MS = 5_000;
/**
 * For a worker's dial that is passed on: the worker waits 3 s for the handshake, and a hub that hangs must not use it
 * up.
 */
const LINK_DIAL_MS = 1_500;
/** For a call without its own deadline; the longest one takes and stores a screenshot. */
const ANSWER_MS = 120_000;

/** What finds the hub of a session, a worker or a job. */
type FindContext = OwnerContext & Pick<FleetContext, "db" | "links">;
type Find = (ctx: FindContext, c: C) => Promise<HubEntry | null>;

/** The other hub that alone can answer this call; null when that is this one, or none. */
const OWNERS: Record<Exclude<Owner, "kept link">, Find> = {
  session: (ctx, c) => findOwner(ctx, idOf(c)),
  worker: (ctx, c) => findLinkHub(ctx, idOf(c)),
  job: (ctx, c) => findJobHub(ctx, idOf(c)),
  mcp: (ctx, c) => findMcpHub(ctx, c.req.header("mcp-session-id") ?? ""),
};

/** The other hub with which an agent speaks: the id of its session begins with the hub's (rules/mcp#sessions-over-http). */
async function findMcpHub(ctx: ClusterContext, id: string): Promise<HubEntry | null> {
  const [hub_id = "", secret] = id.split(".");
  if (!ctx.cluster.shared || secret === undefined || hub_id === ctx.hub_id) return null;
  const hub = await findHub(ctx, hub_id);
  return hub === null || hub.url === "" ? null : hub;
}

/** The id that follows the resource's name, `/sessions/<id>/…`, or the one that a signed link stands for. */
function idOf(c: C): string {
  const link = c.get("link");
  if (link) return link.id;
  const [, , id = ""] = c.req.path.split("/");
  try {
    return decodeURIComponent(id);
  } catch {
    return id;
  }
}

/**
 * A call that only one hub can answer is passed on to it (rules/cluster#calls-are-passed-on): calls of a session, and
 * calls of a worker through its link. This comes before everything else: validation, 404 and Idempotency-Key are the
 * owner's. A call that was passed on before is answered here, so no call travels twice.
 */
export const toOwner =
  (ctx: OwnerContext & Pick<FleetContext, "db" | "links">) =>
  async (c: C, owner: Owner): Promise<Response | null> => {
    if (wasPassedOn(ctx, c)) return null;
    if (owner === "kept link") return passLinkOn(ctx, c);
    const hub = await OWNERS[owner](ctx, c);
    if (hub === null) return null;
    return isUpgrade(c) ? passSocketOn(ctx, c, hub) : passCallOn(ctx, c, hub);
  };

/** Where the caller is, for people. A hub that passed the call on is not who calls. */
export const callersAddress = (ctx: Pick<FleetContext, "config" | "hub_id">, c: C): string =>
  wasPassedOn(ctx, c) ? "another hub" : (addressOf(c) ?? "unknown");

/** Whether another hub has passed this call on. */
export const wasPassedOn = (ctx: Pick<FleetContext, "config" | "hub_id">, c: C): boolean =>
  passedOnBy(ctx, c.req.raw.headers) !== null;

/**
 * The other hub that keeps the link which this worker wants to continue: a router may send the worker to any hub. A
 * worker that wants a new link gets it here.
 */
const findKeptLink = async (
  ctx: ClusterContext & Pick<FleetContext, "links">,
  c: C,
): Promise<HubEntry | null> =>
  c.req.query("resume") === undefined ? null : findLinkHub(ctx, idOf(c)).catch(() => null);

/**
 * To the hub that keeps the link. A hub that cannot be reached keeps nothing: what the worker runs is taken up here.
 */
async function passLinkOn(
  ctx: ClusterContext & Pick<FleetContext, "links">,
  c: C,
): Promise<Response | null> {
  const hub = isUpgrade(c) ? await findKeptLink(ctx, c) : null;
  if (!hub) return null;
  const { hub_id } = hub;
  const found = await dialHub(ctx, hub, pathOf(c), c.req.raw.headers, LINK_DIAL_MS).catch(
    (err: unknown) => {
      if (!(err instanceof AppError)) throw err;
      ctx.log.warn({ hub_id, worker_id: idOf(c) }, "the hub of this worker's link is not there");
      return null;
    },
  );
  if (found === null) return null;
  return found instanceof Response ? found : relayed(ctx, c, hub, found);
}

/** The other hub on whose worker the job runs. */
async function findJobHub(
  ctx: OwnerContext & Pick<FleetContext, "db">,
  job_id: string,
): Promise<HubEntry | null> {
  if (!ctx.cluster.shared) return null;
  const job = await getRow(ctx, job_id).catch((err: unknown) => {
    if (err instanceof AppError) return null;
    throw err;
  });
  return job?.status === "running" && job.session_id !== null
    ? findOwner(ctx, job.session_id)
    : null;
}

const pathOf = (c: C): string => {
  const { pathname, search } = new URL(c.req.url);
  return pathname + search;
};

async function passCallOn(ctx: ClusterContext, c: C, hub: HubEntry): Promise<Response> {
  const { method, headers, signal, body } = c.req.raw;
  // The call has its own deadline; Bun would cut a quiet connection before it.
  c.env.server?.timeout(c.req.raw, 0);
  const given = isSmallJson(c) ? new Uint8Array(await c.req.arrayBuffer()) : body;
  return passOn(ctx, hub, {
    method,
    path: pathOf(c),
    headers: withCurrentTrace(headers),
    body: method === "GET" || method === "HEAD" ? null : given,
    signal,
    answer_ms: answerWithin(c, given),
  });
}

const isSmallJson = (c: C): boolean =>
  /json/i.test(c.req.header("content-type") ?? "") &&
  Number(c.req.header("content-length") ?? Number.NaN) <= MAX_JSON_BODY_BYTES;

const ACTION = /^\/sessions\/[^/]+\/([a-z_]+)$/;

/** An action may take as long as its JSON allows; one whose JSON gives no time gets the longest of all. */
function answerWithin(c: C, body: Uint8Array | ReadableStream | null): number {
  if (c.req.path.startsWith("/session/")) return WEBDRIVER.call_ms + 2 * RELAY_GRACE_MS;
  if (c.req.method !== "POST") return ANSWER_MS;
  if (c.req.path.endsWith("/profile/save")) return SAVE_MS + ACTION_GRACE_MS + RELAY_GRACE_MS;
  const action = ACTION.exec(c.req.path)?.[1];
  if (action === undefined || !isSessionAction(action)) return ANSWER_MS;
  const most_s =
    body instanceof ReadableStream
      ? ACTION_TIMEOUT_S.max
      : timeoutIn(action, body ?? new Uint8Array());
  return Math.max(ANSWER_MS, most_s * 1_000 + ACTION_GRACE_MS + RELAY_GRACE_MS);
}

/** How long the action may take, by its own default if need be; an invalid one is answered at once. */
function timeoutIn(action: SessionActionName, body: Uint8Array): number {
  try {
    const text = Buffer.from(body).toString();
    const parsed = SESSION_ACTIONS[action].args.safeParse(text === "" ? {} : parseJson(text));
    return parsed.success ? parsed.data.timeout_s : 0;
  } catch {
    return 0;
  }
}

/**
 * A viewer's browser does not show the status of a refused handshake, only the reason of a close
 * (rules/http#refused-websockets).
 */
const VIEWER = /\/websockify$/;

async function passSocketOn(ctx: ClusterContext, c: C, hub: HubEntry): Promise<Response> {
  const found = await dialHub(ctx, hub, pathOf(c), c.req.raw.headers).catch((err: unknown) => {
    if (err instanceof AppError && VIEWER.test(c.req.path)) return err;
    throw err;
  });
  if (found instanceof Response) return found;
  if (found instanceof Error) return upgrade(c, relayedSocket(ctx, hub, found), "binary");
  return relayed(ctx, c, hub, found);
}

function relayed(ctx: ClusterContext, c: C, hub: HubEntry, { stream, protocol }: PassedSocket) {
  try {
    return upgrade(c, relayedSocket(ctx, hub, stream), protocol);
  } catch (err) {
    stream.close();
    throw err;
  }
}
