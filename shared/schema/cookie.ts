import { z } from "@hono/zod-openapi";

export const SameSite = z.enum(["Strict", "Lax", "None"]);

/** A stored cookie of a host. `expires` epoch seconds, -1 for a session cookie; a leading dot of `domain` covers subdomains. */
export const StoredCookie = z
  .strictObject({
    name: z.string().max(4_096),
    value: z.string().max(8_192),
    domain: z.string().min(1).max(253),
    path: z.string().max(2_048).default("/"),
    expires: z.number().default(-1),
    http_only: z.boolean().default(false),
    secure: z.boolean().default(false),
    same_site: SameSite.default("Lax"),
  })
  .openapi("StoredCookie");
export type StoredCookie = z.infer<typeof StoredCookie>;

/** A cookie of a session, in Playwright's shape (design/api.md, Sessions). */
export const SessionCookie = z
  .strictObject({
    name: z.string().max(4_096),
    value: z.string().max(8_192),
    url: z.string().max(4_096).optional(),
    domain: z.string().max(253).optional(),
    path: z.string().max(2_048).optional(),
    expires: z.number().optional(),
    httpOnly: z.boolean().optional(),
    secure: z.boolean().optional(),
    sameSite: SameSite.optional(),
  })
  .openapi("SessionCookie");
export type SessionCookie = z.infer<typeof SessionCookie>;
