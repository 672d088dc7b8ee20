import type { Context } from "hono";
import { access } from "#hub/platform/http/access.ts";
import { createRoute, describeRoute } from "#hub/platform/http/create-route.ts";
import type { HttpEnv } from "#hub/platform/http/env.ts";
import { jsonBodyLimit } from "#hub/platform/http/guards.ts";
import { toIssues } from "#hub/platform/http/issues.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { fails, ok } from "#hub/platform/http/openapi-parts.ts";
import { windUpWithin } from "#shared/kit/call-within.ts";
import { AppError, invalid } from "#shared/kit/errors.ts";
import { PageQuery, pageOf } from "#shared/protocol/schema/page.ts";
import {
  DefaultProfile,
  Profile,
  ProfileList,
  ProfileName,
} from "#shared/protocol/schema/profile.ts";
import type { FleetContext } from "../context.ts";
import { deleteProfile, storeProfile } from "../registries/profile-store.ts";
import { beginWriting } from "../registries/profile-writers.ts";
import {
  defaultProfile,
  getProfile,
  listProfiles,
  setDefaultProfile,
} from "../registries/profiles.ts";
import { idempotent } from "./idempotent.ts";
import { IdempotencyHeader, ProfileParams } from "./params.ts";

const tags = ["profiles"];
const ARCHIVE_TYPES = ["application/x-tar", "application/gzip", "application/x-gzip"];
/** Uploading and repacking the largest profile over a slow network; then the call is over. */
const UPLOAD_MS = 1_800_000;

const list = createRoute({
  method: "get",
  path: "/profiles",
  access: "view",
  tags,
  operationId: "listProfiles",
  summary: "List profiles",
  description: "The newest version of each, with size and checksum.",
  request: { query: PageQuery },
  responses: { ...ok(ProfileList), ...fails(422, 503) },
});
const showDefault = createRoute({
  method: "get",
  path: "/profiles/default",
  access: "view",
  tags,
  operationId: "getDefaultProfile",
  summary: "Show the default profile",
  description: "Jobs that name no profile use it; `name` is null when there is none.",
  responses: { ...ok(DefaultProfile), ...fails(503) },
});
const get = createRoute({
  method: "get",
  path: "/profiles/{name}",
  access: "view",
  tags,
  operationId: "getProfile",
  summary: "Read the metadata of a profile",
  description:
    "Size, number of files, checksum and where it came from; the archive itself goes to workers only.",
  request: { params: ProfileParams },
  responses: { ...ok(Profile), ...fails(404, 503) },
});
const binary = { schema: { type: "string", format: "binary" } as const };
const upload = createRoute({
  method: "post",
  path: "/profiles/{name}",
  access: "operate",
  new_work: true,
  changes: ["profiles"],
  tags,
  operationId: "uploadProfile",
  summary: "Store a profile",
  description:
    "A tar or tar.gz with Default/, with one Profile <N>/, or with a profile's files at its root; Local State may lie " +
    "at the root. Caches, locks and open windows are left out.",
  request: {
    params: ProfileParams,
    body: {
      required: true,
      description: "The archive",
      content: { "application/x-tar": binary, "application/gzip": binary },
    },
  },
  responses: {
    ...ok(Profile, "Replaced"),
    201: { description: "Stored", content: { "application/json": { schema: Profile } } },
    ...fails(400, 409, 413, 422, 503),
    415: { ...fails(415)[415], description: `The body must be ${ARCHIVE_TYPES.join(" or ")}` },
  },
});

/** @throws AppError invalid naming the path's part. */
export function profileName(name: string): string {
  const parsed = ProfileName.safeParse(name);
  if (!parsed.success) throw new AppError("invalid", toIssues(parsed.error.issues, "path", "name"));
  return parsed.data;
}

/**
 * Stores the archive that a call sends as the profile `name`, for its writer.
 * @throws AppError as `storeProfile`, also when the time is over
 */
export async function storeUpload(
  ctx: Pick<FleetContext, "clock" | "config" | "db" | "log" | "profile_archives" | "stopping">,
  c: Context<HttpEnv>,
  name: string,
): Promise<Profile> {
  const { raw } = c.req;
  const { body } = raw;
  if (!body) throw invalid(["body"], "the archive is empty");
  // The answer may take longer than Bun lets a silent connection live.
  c.env.server?.timeout(raw, 0);
  const length = c.req.header("content-length");
  const size = length === undefined ? undefined : Number(length);
  const limit = { what: "the upload", ms: UPLOAD_MS, signal: ctx.stopping };
  return windUpWithin(ctx.clock, limit, (signal) =>
    storeProfile(ctx, name, { body, size, signal }),
  );
}

/** Takes the archive of a profile. */
export function profileUploadRoutes(ctx: FleetContext) {
  const app = newApp();
  describeRoute(app, upload);
  return app.post("/profiles/:name", access(upload.rules), async (c) => {
    const name = profileName(c.req.param("name"));
    const type = c.req.header("content-type")?.split(";")[0]?.trim().toLowerCase() ?? "";
    if (!ARCHIVE_TYPES.includes(type))
      throw new AppError(
        "unsupported_media",
        "Content-Type must be application/x-tar or application/gzip",
      );
    const done = await beginWriting(ctx, name, "upload");
    try {
      const known = await ctx.db.profiles.get(name);
      const stored = await storeUpload(ctx, c, name);
      return c.json(stored, known ? 200 : 201);
    } finally {
      await done();
    }
  });
}

/** The registry of browser profiles (rules/profiles#profile-record). */
export function profileRoutes(ctx: FleetContext) {
  const middleware = [jsonBodyLimit, idempotent(ctx)];
  const clear = createRoute({
    method: "delete",
    path: "/profiles/default",
    access: "operate",
    changes: ["profiles"],
    tags,
    operationId: "clearDefaultProfile",
    summary: "Clear the default profile",
    description: "Jobs that name no profile then start with an empty one again.",
    middleware,
    request: { headers: IdempotencyHeader },
    responses: { ...ok(DefaultProfile), ...fails(409, 413, 422, 503) },
  });
  const remove = createRoute({
    method: "delete",
    path: "/profiles/{name}",
    access: "operate",
    changes: ["profiles"],
    tags,
    operationId: "deleteProfile",
    summary: "Delete a profile",
    description: "Runs that just got it can still fetch it for a few minutes.",
    middleware,
    request: { params: ProfileParams, headers: IdempotencyHeader },
    responses: { 204: { description: "Deleted" }, ...fails(404, 409, 413, 422, 503) },
  });
  const makeDefault = createRoute({
    method: "post",
    path: "/profiles/{name}/default",
    access: "operate",
    changes: ["profiles"],
    tags,
    operationId: "setDefaultProfile",
    summary: "Make this the default profile",
    description: "For every job from now on that names no profile.",
    middleware,
    request: { params: ProfileParams, headers: IdempotencyHeader },
    responses: { ...ok(DefaultProfile), ...fails(404, 409, 413, 422, 503) },
  });
  return newApp()
    .openapi(list, async (c) => {
      const { page, next_cursor } = pageOf(
        await listProfiles(ctx),
        ({ name }) => name,
        c.req.valid("query"),
      );
      return c.json({ profiles: page, next_cursor }, 200);
    })
    .openapi(showDefault, async (c) =>
      c.json({ name: (await defaultProfile(ctx))?.name ?? null }, 200),
    )
    .openapi(clear, async (c) => {
      await ctx.db.profiles.clearDefault();
      return c.json({ name: null }, 200);
    })
    .openapi(get, async (c) => c.json(await getProfile(ctx, c.req.valid("param").name), 200))
    .openapi(remove, async (c) => {
      await deleteProfile(ctx, c.req.valid("param").name);
      return c.body(null, 204);
    })
    .openapi(makeDefault, async (c) => {
      const { name } = await setDefaultProfile(ctx, c.req.valid("param").name);
      return c.json({ name }, 200);
    });
}
