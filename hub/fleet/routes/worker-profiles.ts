import type { Context } from "hono";
import { access } from "#hub/platform/http/access.ts";
import { createRoute, describeRoute } from "#hub/platform/http/create-route.ts";
import { bearerOf } from "#hub/platform/http/guards.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { bytes, fails, ok } from "#hub/platform/http/openapi-parts.ts";
import { AppError, conflict, notFound } from "#shared/kit/errors.ts";
import { sameSecret } from "#shared/kit/secret.ts";
import { Profile, ProfileRef } from "#shared/protocol/schema/profile.ts";
import type { FleetContext } from "../context.ts";
import type { WorkerLink } from "../links/worker-link.ts";
import { isWriter } from "../registries/profile-writers.ts";
import { profileKey } from "../registries/profiles.ts";
import { requireSession } from "../sessions/registry.ts";
import { writerOf } from "../sessions/save-profile.ts";
import { SessionProfileParams, WorkerProfileParams } from "./params.ts";
import { profileName, storeUpload } from "./profiles.ts";

const tags = ["worker uploads"];
const description = "With Authorization: Bearer <upload_token> of the link's registration.";
const getArchive = createRoute({
  method: "get",
  path: "/workers/{worker_id}/profiles/{name}/{sha256}",
  access: "worker",
  proof: "upload token",
  owner: "worker",
  tags,
  operationId: "getProfileArchive",
  summary: "The archive of one version of a profile",
  description,
  request: { params: WorkerProfileParams },
  responses: { 200: bytes("The normalised tar.gz"), ...fails(401, 404, 503) },
});
const putArchive = createRoute({
  method: "put",
  path: "/workers/{worker_id}/sessions/{session_id}/profile/{name}",
  access: "worker",
  proof: "upload token",
  owner: "worker",
  changes: ["profiles"],
  tags,
  operationId: "uploadSessionProfile",
  summary: "Upload the profile of a session that is being saved",
  description,
  request: {
    params: SessionProfileParams,
    body: { required: true, ...bytes("A tar.gz with Default/") },
  },
  responses: { ...ok(Profile), ...fails(401, 404, 409, 413, 422, 503) },
});

/** @throws AppError unauthorized */
export function requireWorker(ctx: Pick<FleetContext, "links">, c: Context): WorkerLink {
  const bearer = bearerOf(c);
  const link = ctx.links.get(c.req.param("worker_id") ?? "");
  if (!link || bearer === null || !sameSecret(link.upload_token, bearer))
    throw new AppError("unauthorized", "bad upload token");
  return link;
}

/** Profile archives to and from workers. */
export function workerProfileRoutes(ctx: FleetContext) {
  const app = newApp();
  describeRoute(app, getArchive);
  describeRoute(app, putArchive);
  return app
    .get("/workers/:worker_id/profiles/:name/:sha256", access(getArchive.rules), async (c) => {
      requireWorker(ctx, c);
      const ref = ProfileRef.safeParse({
        ...c.req.param(),
        name: profileName(c.req.param("name")),
        size: 0,
      });
      if (!ref.success) throw notFound("profile");
      const key = profileKey(ref.data.name, ref.data.sha256);
      const body = await ctx.profile_archives.read(key);
      if (!body) throw notFound("profile");
      return new Response(body, { headers: { "Content-Type": "application/gzip" } });
    })
    .put(
      "/workers/:worker_id/sessions/:session_id/profile/:name",
      access(putArchive.rules),
      async (c) => {
        const link = requireWorker(ctx, c);
        const session = requireSession(ctx, c.req.param("session_id"));
        if (session.link !== link) throw notFound("session");
        const name = profileName(c.req.param("name"));
        if (!isWriter(ctx, name, writerOf(session.session_id)))
          throw conflict(`profile ${name} is not being saved from this session`);
        return c.json(await storeUpload(ctx, c, name));
      },
    );
}
