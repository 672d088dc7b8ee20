import { z } from "@hono/zod-openapi";
import { canonicalHost } from "#shared/kit/host-name.ts";

// biome-ignore lint/suspicious/noControlCharactersInRegex: controls are exactly what is refused
const NO_CONTROLS = /^[^\u0000-\u001f\u007f]*$/;
/** Browsers drop such cookies, and a line break in one would be another header. */
const clean = (max: number) =>
  z.string().max(max).regex(NO_CONTROLS, "must not contain control characters");

/** A host name, with a leading dot when the cookie is for its subdomains too. */
const CookieDomain = z
  .string()
  .min(1)
  .max(254)
  .transform((raw, ctx) => {
    const host = canonicalHost(raw.replace(/^\./, ""));
    if (host !== null) return raw.startsWith(".") ? `.${host}` : host;
    ctx.addIssue({ code: "custom", message: "must be a host name, with a leading dot or without" });
    return z.NEVER;
  });

const SameSite = z.enum(["Strict", "Lax", "None"]);

/** A stored cookie of a host. `expires` epoch seconds, -1 for a session cookie; a leading dot of `domain` covers subdomains. */
export const StoredCookie = z
  .strictObject({
    name: clean(4_096),
    value: clean(8_192),
    domain: CookieDomain,
    path: clean(2_048).startsWith("/").default("/"),
    expires: z.number().min(-1).max(1e13).default(-1),
    http_only: z.boolean().default(false),
    secure: z.boolean().default(false),
    same_site: SameSite.default("Lax"),
  })
  .openapi("StoredCookie");
export type StoredCookie = z.infer<typeof StoredCookie>;

/** A cookie of a session, in Playwright's shape (rules/sessions#cookies-of-a-session). */
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
