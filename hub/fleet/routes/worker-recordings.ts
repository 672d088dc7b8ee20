import { z } from "@hono/zod-openapi";
import type { Context } from "hono";
import { access } from "#hub/platform/http/access.ts";
import { createRoute, describeRoute } from "#hub/platform/http/create-route.ts";
import { bearerOf } from "#hub/platform/http/guards.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { bytes, fails, ok } from "#hub/platform/http/openapi-parts.ts";
import { AppError, invalid, notFound } from "#shared/kit/errors.ts";
import { sameSecret } from "#shared/kit/secret.ts";
import type { FleetContext } from "../context.ts";
import type { WorkerLink } from "../links/worker-link.ts";
import { appendToRecording, MAX_APPEND_BYTES } from "../recordings/append.ts";
import type { RecordingsContext } from "../recordings/runs.ts";
import { type Run, runIdOf } from "../recordings/runs.ts";
import { comingBack } from "../sessions/hub-session.ts";
import { BatchParams, SessionOfWorkerParams } from "./params.ts";
import { bodyWithin, RULES, UploadHeaders } from "./worker-uploads.ts";

const Length = z.object({ length: z.int() }).openapi("RecordingLength");
const Query = z.object({
  offset: z
    .string()
    .regex(/^\d{1,12}$/)
    .openapi({ description: "Where the frames belong", example: "0" }),
});
const route = <P extends z.ZodObject>(
  path: string,
  params: P,
  texts: { operationId: string; summary: string },
) =>
  createRoute({
    method: "put",
    path,
    ...RULES,
    changes: [],
    tags: ["worker uploads"],
    ...texts,
    description:
      "With Authorization: Bearer <upload_token> of the link's registration. Whole frames, added at the end. 409 with `length` where the recording has another length: the worker goes on from there. 409 without it: nothing more is taken.",
    request: {
      params,
      query: Query,
      headers: UploadHeaders.pick({ "x-lease-token": true }),
      body: { required: true, ...bytes("Whole frames of a recording") },
    },
    responses: { ...ok(Length, "The length from now on"), ...fails(400, 401, 409, 413, 422, 503) },
  });
const ofJob = route("/workers/{worker_id}/jobs/{job_id}/recording", BatchParams, {
  operationId: "appendJobRecording",
  summary: "Add to the recording of a running job",
});
const ofSession = route(
  "/workers/{worker_id}/sessions/{session_id}/recording",
  SessionOfWorkerParams,
  { operationId: "appendSessionRecording", summary: "Add to the recording of an open session" },
);

/** @throws AppError unauthorized, or unavailable while its worker is expected back */
function requireLink(ctx: Pick<FleetContext, "links" | "awaited">, c: Context): WorkerLink {
  const bearer = bearerOf(c);
  const worker_id = c.req.param("worker_id") ?? "";
  const link = ctx.links.get(worker_id);
  if (link ? !link.ready : ctx.awaited.links.has(worker_id)) throw comingBack();
  if (!link || bearer === null || !sameSecret(link.upload_token, bearer))
    throw new AppError("unauthorized", "bad upload token");
  return link;
}

/** The session that a call of its worker is about, while its lane is not given back. @throws AppError not_found */
export function sessionOfWorker(
  ctx: Pick<FleetContext, "links" | "awaited">,
  c: Context,
): { session_id: string } {
  const link = requireLink(ctx, c);
  const session_id = c.req.param("session_id") ?? "";
  if (link.heldFor(session_id, leaseTokenOf(c))) return { session_id };
  throw notFound("session");
}

/** @throws AppError invalid */
function leaseTokenOf(c: Context): number {
  const token = c.req.header("x-lease-token") ?? "";
  if (!/^[0-9]{1,16}$/.test(token))
    throw invalid(["header", "X-Lease-Token"], "must be a whole number");
  return Number(token);
}

/**
 * The run that a call of its worker adds to: one that the worker has a lease for, or one that it has begun here before; its
 * last frames come when the lease is over. @throws AppError not_found
 */
function runOf(ctx: Pick<FleetContext, "recordings" | "links" | "awaited">, c: Context): Run {
  const link = requireLink(ctx, c);
  const lease_token = leaseTokenOf(c);
  const { worker_id } = link;
  const { job_id, session_id } = c.req.param();
  const held = job_id
    ? link.heldBy(job_id, lease_token)
    : link.heldFor(session_id ?? "", lease_token);
  const run: Run = {
    worker_id,
    job_id: job_id ?? null,
    session_id: session_id ?? held?.lease.session_id ?? "",
    lease_token,
  };
  if (held || ctx.recordings.by_run.get(runIdOf(run))?.worker_id === worker_id) return run;
  throw notFound("run");
}

async function append(
  ctx: RecordingsContext & Pick<FleetContext, "awaited" | "links">,
  c: Context,
): Promise<Response> {
  const run = runOf(ctx, c);
  const { offset } = Query.parse(c.req.query());
  const frames = await bodyWithin(c, MAX_APPEND_BYTES, "the frames");
  return c.json({ length: await appendToRecording(ctx, run, Number(offset), frames) });
}

/** Recordings as workers send them, a piece at a time (rules/recordings#on-the-way-to-the-hub). */
export function workerRecordingRoutes(ctx: FleetContext) {
  const app = newApp();
  describeRoute(app, ofJob);
  describeRoute(app, ofSession);
  return app
    .put("/workers/:worker_id/jobs/:job_id/recording", access(ofJob.rules), (c) => append(ctx, c))
    .put("/workers/:worker_id/sessions/:session_id/recording", access(ofSession.rules), (c) =>
      append(ctx, c),
    );
}
