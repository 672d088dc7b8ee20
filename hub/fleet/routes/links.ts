import type { Context, MiddlewareHandler } from "hono";
import { operatorsOnly } from "#hub/platform/http/admit.ts";
import { calledAt } from "#hub/platform/http/called-at.ts";
import { createRoute } from "#hub/platform/http/create-route.ts";
import type { HttpEnv } from "#hub/platform/http/env.ts";
import { jsonBodyLimit } from "#hub/platform/http/guards.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { bytes, fails, json, NOT_MODIFIED, ok } from "#hub/platform/http/openapi-parts.ts";
import { isoTime } from "#shared/kit/clock.ts";
import { notFound } from "#shared/kit/errors.ts";
import { AssetList } from "#shared/protocol/schema/asset.ts";
import { CreateSignedLink, SignedLink } from "#shared/protocol/schema/signed-link.ts";
import type { FleetContext } from "../context.ts";
import { getRow } from "../jobs/read-jobs.ts";
import { getAsset, listAssets } from "../jobs/stored-files.ts";
import { findOwner } from "../sessions/places.ts";
import { requireSession } from "../sessions/registry.ts";
import type { OwnerContext } from "../sessions/session-contexts.ts";
import { assetAnswer } from "./asset-answer.ts";
import { idempotent } from "./idempotent.ts";
import { addLinkViews, linkOf } from "./link-views.ts";
import { linksOfPage } from "./one-shots.ts";
import { AssetOfLinkParams, IdempotencyHeader, SignedLinkParams } from "./params.ts";

const tags = ["links"];

const remove = createRoute({
  method: "delete",
  path: "/links",
  access: "admin",
  until_password: "operate",
  changes: [],
  tags,
  operationId: "endAllLinks",
  summary: "End every signed link created so far (administrator)",
  description:
    "Replaces the key that signs them, at every hub within a second. Sockets that they opened are closed " +
    "within two seconds.",
  responses: { 204: { description: "Ended" }, ...fails(401, 403, 429, 503) },
});
const list = createRoute({
  method: "get",
  path: "/links/{link}/assets.json",
  access: "link",
  opens: "asset",
  tags,
  operationId: "listLinkAssets",
  summary: "List the assets that a link opens",
  description: "All of the job, or the one that the link is for.",
  request: { params: SignedLinkParams },
  responses: { ...ok(AssetList), ...fails(403, 404, 410) },
});
const asset = createRoute({
  method: "get",
  path: "/links/{link}/assets/{name}",
  access: "link",
  opens: "asset",
  tags,
  operationId: "getLinkAsset",
  summary: "Read an asset body that a link opens",
  description: "As /jobs/{id}/assets/{name}: with ETag (sha256), Range and If-None-Match.",
  request: { params: AssetOfLinkParams },
  responses: {
    200: bytes("The body, with its captured type"),
    206: bytes("The requested range"),
    ...NOT_MODIFIED,
    ...fails(403, 404, 410, 416),
  },
});

/** Before a stored answer is looked up by its Idempotency-Key: it would be a link. */
const madeByOperators =
  (ctx: Pick<FleetContext, "admin" | "logins">): MiddlewareHandler<HttpEnv> =>
  async (c, next) => {
    await operatorsOnly(c, ctx);
    await next();
  };

/** What the link leads to, below it. */
function pathOf({ kind, name, mode }: Pick<SignedLink, "kind" | "name" | "mode">): string {
  if (kind === "cdp") return "cdp";
  if (kind === "asset") return name === null ? "assets.json" : `assets/${encodeURIComponent(name)}`;
  const view_only = mode === "view" ? "&view_only=true" : "";
  return `?autoconnect=1&resize=scale&reconnect=1${view_only}`;
}

/** The address is a key: the page shown there must not leak it. */
const keepLinkSecret: MiddlewareHandler<HttpEnv> = async (c, next) => {
  await next();
  c.res.headers.set("Referrer-Policy", "no-referrer");
};

/** @throws AppError not_found */
async function demandTarget(
  ctx: OwnerContext & Pick<FleetContext, "awaited" | "db">,
  { kind, id, ...more }: CreateSignedLink,
): Promise<void> {
  if (kind !== "asset") {
    if ((await findOwner(ctx, id)) === null) requireSession(ctx, id);
    return;
  }
  const name = "name" in more ? more.name : null;
  await (name === null ? getRow(ctx, id) : getAsset(ctx, id, name));
}

async function makeLink(
  ctx: OwnerContext & Pick<FleetContext, "awaited" | "db" | "signed_links">,
  c: Context<HttpEnv>,
  wanted: CreateSignedLink,
): Promise<SignedLink> {
  await demandTarget(ctx, wanted);
  const { kind, id, mode, expires_in_s } = wanted;
  const name = wanted.kind === "asset" ? wanted.name : null;
  const { token_id } = c.var.caller;
  const expires_at = ctx.clock.now() + expires_in_s * 1_000;
  const link = await ctx.signed_links.make({ kind, id, name, mode, expires_at, token_id });
  const base = `${calledAt(c, kind === "cdp" ? "ws" : "http")}/links/${link}/`;
  const url = base + pathOf({ kind, name, mode });
  return { kind, id, name, mode, url, expires_at: isoTime(expires_at) };
}

const LINK_WORDS =
  "`viewer` and `cdp` take the id of a session, `asset` that of a job, with the `name` of one asset or null for " +
  "all. A viewer link of mode `view` shows the screen and takes no input, whatever its page sends; it does not " +
  "reveal the session's id. `expires_in_s` is in seconds: an hour unless given, at most seven days. The link is " +
  "itself the permission until then. It ends when the token that created it is revoked or expires; DELETE /links " +
  "ends all. An expired link is 410, any other refused one 403. CDP cannot be view-only: mode `view` is 422. A body with " +
  "`url` or `html` and no `kind` asks for the links of that page instead, as `links` of POST /scrape.";

/** Signed links: keys to one viewer, one DevTools socket or the assets of one job, for a time. */
export function linkRoutes(ctx: FleetContext) {
  const make = createRoute({
    method: "post",
    path: "/links",
    access: "submit",
    operator_for: "signed links",
    token_in_query: true,
    changes: [],
    tags,
    operationId: "createLink",
    summary: "Create a link that opens one thing for a limited time, without a token",
    description: LINK_WORDS,
    middleware: [jsonBodyLimit, linksOfPage(ctx), madeByOperators(ctx), idempotent(ctx)],
    request: {
      ...json(CreateSignedLink, {
        kind: "viewer",
        id: "V1StGXR8Z5jdHi6BmyT3KA",
        expires_in_s: 600,
      }),
      headers: IdempotencyHeader,
    },
    responses: {
      201: {
        description: "The link was created",
        content: { "application/json": { schema: SignedLink } },
      },
      ...fails(400, 404, 409, 413, 415, 422, 503),
    },
  });

  const app = newApp();
  app.use("/links/:link/*", keepLinkSecret);
  app
    .openapi(make, async (c) => {
      const made = await makeLink(ctx, c, c.req.valid("json"));
      c.header("Cache-Control", "no-store");
      return c.json(made, 201);
    })
    .openapi(remove, async (c) => {
      await ctx.signed_links.endAll();
      ctx.log.info({}, "all signed links ended");
      return c.body(null, 204);
    })
    .openapi(list, async (c) => {
      const { id, name } = linkOf(c);
      const all = await listAssets(ctx, id);
      const items = name === null ? all : all.filter((item) => item.name === name);
      // The holder of the link can read them only below it.
      const below = items.map((item) => ({
        ...item,
        href: `assets/${encodeURIComponent(item.name)}`,
      }));
      return c.json({ job_id: id, count: below.length, items: below }, 200);
    })
    .openapi(asset, async (c) => {
      const { id, name } = linkOf(c);
      const asked = c.req.valid("param").name;
      if (name !== null && name !== asked) throw notFound("asset");
      return assetAnswer(ctx, c, { job_id: id, name: asked });
    });
  addLinkViews(ctx, app);
  return app;
}
