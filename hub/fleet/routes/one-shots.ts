import type { Context, MiddlewareHandler } from "hono";
import { passOn } from "#hub/platform/cluster/relay-http.ts";
import { access } from "#hub/platform/http/access.ts";
import { nameOf } from "#hub/platform/http/caller.ts";
import { describeRoute } from "#hub/platform/http/create-route.ts";
import type { HttpEnv } from "#hub/platform/http/env.ts";
import { jsonBodyLimit } from "#hub/platform/http/guards.ts";
import { newApp, validationError } from "#hub/platform/http/new-app.ts";
import { AppError, invalid } from "#shared/kit/errors.ts";
import { parseJson } from "#shared/kit/json.ts";
import { ONE_SHOT } from "#shared/protocol/limits.ts";
import { inOwnWords } from "#shared/protocol/one-shot-spellings.ts";
import { ONE_SHOT_KINDS, ONE_SHOTS, type OneShotKind } from "#shared/protocol/schema/one-shot.ts";
import type { FleetContext } from "../context.ts";
import type { JobSubmitContext } from "../jobs/job-contexts.ts";
import { leftBy, runOneShotJob } from "../jobs/one-shot-job.ts";
import { getRow } from "../jobs/read-jobs.ts";
import { openAnywhere } from "../sessions/anywhere.ts";
import { answerOneShot, type OneShot, sessionFor } from "../sessions/one-shot.ts";
import { findOwner } from "../sessions/places.ts";
import { jsonBody, requireJsonType } from "./json-body.ts";
import { type DescribedKind, describeOneShot } from "./one-shot-docs.ts";
import { wasPassedOn } from "./pass-on.ts";
import { withTokenHeader } from "./token-header.ts";

type C = Context<HttpEnv>;

const isDescribed = (kind: OneShotKind): kind is DescribedKind => kind !== "links";

/** POST /screenshot, /pdf, /content, /markdown, /scrape and /evaluate (rules/one-shot-calls). */
export function oneShotRoutes(ctx: FleetContext) {
  const app = newApp();
  for (const kind of ONE_SHOT_KINDS.filter(isDescribed)) {
    const route = describeOneShot(kind);
    describeRoute(app, route);
    app.post(`/${kind}`, access(route.rules), jsonBodyLimit, async (c) =>
      answer(ctx, c, kind, await jsonBody(c)),
    );
  }
  return app;
}

/** Of POST /links: a page's links, where the body names a page and no kind of signed link. */
export const linksOfPage =
  (
    ctx: JobSubmitContext & Pick<FleetContext, "candidate" | "lanes_wanted" | "session_calls">,
  ): MiddlewareHandler<HttpEnv> =>
  async (c, next) => {
    const raw = await bodyOrNull(c);
    if (raw === null || "kind" in raw || !("url" in raw || "html" in raw)) return next();
    requireJsonType(c);
    return answer(ctx, c, "links", raw);
  };

/** Anything but an object is left for the next handler to reject. */
async function bodyOrNull(c: C): Promise<object | null> {
  try {
    const raw: unknown = parseJson(await c.req.text());
    return typeof raw === "object" ? raw : null;
  } catch {
    return null;
  }
}

/** Of a call that another hub passes on: the job that has opened the page here. */
const OF_JOB = "of_job";
const isOfJob = (ctx: Pick<FleetContext, "config" | "hub_id">, c: C): boolean =>
  c.req.query(OF_JOB) !== undefined && wasPassedOn(ctx, c);

const IN_QUERY = ["token", "timeout", "blockAds"];

/** Options are fields of the body; these are what clients of browserless have in the address. */
function demandKnownQuery(ctx: Pick<FleetContext, "config" | "hub_id">, c: C): void {
  for (const name of Object.keys(c.req.query()))
    if (!IN_QUERY.includes(name) && !(name === OF_JOB && isOfJob(ctx, c)))
      throw invalid(["query", name], "is not known here: options are fields of the body");
}

function timeoutOf(c: C): number | undefined {
  const query = c.req.query();
  if (query.timeout === undefined) return undefined;
  const ms = Number(query.timeout);
  if (!Number.isFinite(ms) || query.timeout === "")
    throw invalid(["query", "timeout"], "must be a number of milliseconds");
  return ms / 1_000;
}

/** `?blockAds` and `?blockAds=true`, as a field of the body. */
function withBlockAds(c: C, raw: unknown): unknown {
  const wish = c.req.query("blockAds");
  if (wish === undefined || typeof raw !== "object" || raw === null) return raw;
  if (!["", "true", "false"].includes(wish))
    throw invalid(["query", "blockAds"], "must be true or false");
  return { ...raw, blockAds: wish !== "false" };
}

function readCall(
  ctx: Pick<FleetContext, "config" | "hub_id">,
  c: C,
  kind: OneShotKind,
  raw: unknown,
): OneShot["call"] {
  demandKnownQuery(ctx, c);
  const own = inOwnWords(kind, withBlockAds(c, raw));
  const timeout_s = timeoutOf(c);
  if (timeout_s !== undefined && typeof own === "object" && own !== null && !("timeout_s" in own))
    Object.assign(own, { timeout_s });
  const parsed = ONE_SHOTS[kind].safeParse(own);
  if (!parsed.success) throw validationError(parsed.error.issues, "body", own);
  return parsed.data;
}

/** Whether the client asks for JSON and for nothing else that it could get. */
const wantsJson = (accept = ""): boolean =>
  /\bapplication\/json\b/i.test(accept) &&
  !/\b(image|text)\/|\bapplication\/pdf\b|\*\/\*/i.test(accept);

async function answer(
  ctx: JobSubmitContext & Pick<FleetContext, "candidate" | "lanes_wanted" | "session_calls">,
  c: C,
  kind: OneShotKind,
  raw: unknown,
): Promise<Response> {
  const call = readCall(ctx, c, kind, raw);
  const one_shot = { kind, call, as_json: wantsJson(c.req.header("accept")) };
  if (call.as_job || isOfJob(ctx, c)) return answerAsJob(ctx, c, one_shot);
  const { signal } = c.req.raw;
  // The call has its own deadline; Bun would cut a quiet connection before it.
  c.env.server?.timeout(c.req.raw, 0);
  const opened = await openAnywhere(ctx, {
    input: sessionFor(one_shot),
    headers: withTokenHeader(c),
    body: JSON.stringify(call),
    signal,
    opened_by: nameOf(c.var.caller),
    passed_on: wasPassedOn(ctx, c),
    one_shot: { path: `/${kind}`, url: call.url ?? null, work_ms: call.timeout_s * 1_000 },
  });
  return opened instanceof Response ? opened : answerOneShot(ctx, opened, one_shot, signal);
}

/** A call with `as_job` (rules/one-shot-calls#as-a-job): the hub that has the job's browser answers. */
async function answerAsJob(
  ctx: JobSubmitContext & Pick<FleetContext, "session_calls">,
  c: C,
  one_shot: OneShot,
): Promise<Response> {
  const { signal } = c.req.raw;
  c.env.server?.timeout(c.req.raw, 0);
  const { call, kind } = one_shot;
  const began = ctx.clock.monotonic();
  const given = c.req.query(OF_JOB);
  // As for every call that makes a job; the others store nothing.
  if (given === undefined) ctx.disk_room.requireRoom();
  const row =
    given === undefined ? await runOneShotJob(ctx, one_shot, signal) : await getRow(ctx, given);
  const { job_id, session_id, http_status } = row;
  const spent_s = (ctx.clock.monotonic() - began) / 1_000;
  const timeout_s = Math.max(ONE_SHOT.timeout_s.min, call.timeout_s - spent_s);
  const rest = { ...call, timeout_s, as_job: false };
  const session = await leftBy(ctx, row);
  if (session)
    return answerOneShot(
      ctx,
      session,
      { ...one_shot, call: rest, job: { job_id, http_status } },
      signal,
    );
  const hub = session_id === null || given !== undefined ? null : await findOwner(ctx, session_id);
  if (hub === null)
    throw new AppError("relay_failed", "the browser of the job ended before it had answered", {
      body: { job_id },
    });
  return passOn(ctx, hub, {
    method: "POST",
    path: `/${kind}?${OF_JOB}=${job_id}`,
    headers: withTokenHeader(c),
    body: new TextEncoder().encode(JSON.stringify(rest)),
    signal,
    answer_ms: timeout_s * 1_000 + PASSED_GRACE_MS,
  });
}

/** Longer than the other hub's own deadlines. */
const PASSED_GRACE_MS = 15_000;
