import { z } from "@hono/zod-openapi";
import { ROLES } from "../token-roles.ts";
import { NextCursor } from "./page.ts";

export const Role = z
  .enum(ROLES)
  .openapi("Role", { description: "Each role may do everything that those before it may" });
export type Role = z.infer<typeof Role>;

export const TOKEN_SECRET = /^flt_[A-Za-z0-9_-]{43}$/;
const MAX_EXPIRES_S = 10 * 366 * 86_400;

const time = z.string().nullable();
export const Token = z
  .object({
    token_id: z.string(),
    name: z.string(),
    role: Role,
    created_at: z.string(),
    expires_at: time.openapi({ description: "Null: never" }),
    expired: z.boolean(),
    last_used_at: time.openapi({ description: "To the minute; null: never" }),
  })
  .openapi("Token");
export type Token = z.infer<typeof Token>;

export const TokenList = z.object({ tokens: z.array(Token), ...NextCursor }).openapi("TokenList");

export const CreateToken = z
  .strictObject({
    name: z
      .string()
      .trim()
      .min(1)
      .max(100)
      .openapi({ description: "A name for people: of a person, a program or a machine" }),
    role: Role,
    expires_in_s: z
      .int()
      .min(1)
      .max(MAX_EXPIRES_S)
      .optional()
      .openapi({ description: "Without it the token is valid until it is revoked" }),
  })
  .openapi("CreateToken");
export type CreateToken = z.infer<typeof CreateToken>;

export const CreatedToken = Token.extend({
  token: z.string().openapi({ description: "Shown only in this answer; the hub keeps its hash" }),
  warnings: z
    .array(z.string())
    .openapi({ description: "What is still accessible without a token" }),
}).openapi("CreatedToken");
export type CreatedToken = z.infer<typeof CreatedToken>;
