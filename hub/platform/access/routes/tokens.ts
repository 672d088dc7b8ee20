import { z } from "@hono/zod-openapi";
import { PageQuery, pageOf } from "#shared/protocol/schema/page.ts";
import { CreatedToken, CreateToken, TokenList } from "#shared/protocol/schema/token.ts";
import type { PlatformContext } from "../../context.ts";
import { createRoute } from "../../http/create-route.ts";
import { jsonBodyLimit } from "../../http/guards.ts";
import { newApp } from "../../http/new-app.ts";
import { fails, json, ok } from "../../http/openapi-parts.ts";

const tags = ["tokens"];
const who = { access: "admin", until_password: "operate", origins: "never" } as const;

const list = createRoute({
  method: "get",
  path: "/tokens",
  tags,
  ...who,
  operationId: "listTokens",
  summary: "List the tokens with roles",
  description: "Without the tokens themselves, which only their holders have.",
  request: { query: PageQuery },
  responses: { ...ok(TokenList), ...fails(401, 403, 422, 429, 503) },
});
const create = createRoute({
  method: "post",
  path: "/tokens",
  tags,
  ...who,
  changes: ["tokens"],
  operationId: "createToken",
  summary: "Create a token with a role",
  description:
    "`token` is shown only in this answer. Once there is a token, every call requires one. Unless there is an " +
    "administrator's password or SVC_API_TOKEN, the first must be of the role admin and never expire: else 409.",
  middleware: [jsonBodyLimit],
  request: json(CreateToken, { name: "nightly crawl", role: "submitter", expires_in_s: 7_776_000 }),
  responses: {
    201: { description: "Made", content: { "application/json": { schema: CreatedToken } } },
    ...fails(400, 401, 403, 409, 413, 415, 422, 429, 503),
  },
});
const revoke = createRoute({
  method: "delete",
  path: "/tokens/{id}",
  tags,
  ...who,
  changes: ["tokens"],
  operationId: "revokeToken",
  summary: "Revoke a token and the logins that came from it",
  description:
    "It stops working at every hub within two seconds. 409 for the last of the role admin, while others are left that nobody " +
    "could revoke.",
  request: {
    params: z.object({
      id: z.string().openapi({ param: { name: "id", in: "path" }, example: "k3v9q2m7x1c5b8" }),
    }),
  },
  responses: { 204: { description: "Revoked" }, ...fails(401, 403, 404, 409, 429, 503) },
});

/** Tokens with roles, of hub and control plane alike. */
export const tokenRoutes = ({ tokens }: Pick<PlatformContext, "tokens">) =>
  newApp()
    .openapi(list, async (c) => {
      const { page, next_cursor } = pageOf(
        await tokens.list(),
        ({ token_id }) => token_id,
        c.req.valid("query"),
      );
      return c.json({ tokens: page, next_cursor }, 200);
    })
    .openapi(create, async (c) => {
      c.header("Cache-Control", "no-store");
      return c.json(await tokens.create(c.req.valid("json")), 201);
    })
    .openapi(revoke, async (c) => {
      await tokens.revoke(c.req.valid("param").id);
      return c.body(null, 204);
    });
