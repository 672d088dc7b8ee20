import { z } from "@hono/zod-openapi";
import { NextCursor } from "./page.ts";

/** `default` names the default profile's own endpoints (rules/profiles#names-of-profiles). */
export const ProfileName = z
  .string()
  .regex(/^[a-z0-9_-]{1,64}$/, "must consist of a-z, 0-9, hyphen and underscore")
  .refine((name) => name !== "default" && name !== "extension", { error: "is a reserved name" });

/** A stored browser profile. `size` of the normalised archive in bytes, `files` in it, `sha256` of it in hex. */
export const Profile = z
  .object({
    name: z.string(),
    size: z.int(),
    files: z.int(),
    sha256: z.string(),
    is_default: z.boolean(),
    source_browser: z.string().nullable(),
    created_at: z.string(),
    updated_at: z.string(),
  })
  .openapi("Profile");
export type Profile = z.infer<typeof Profile>;

export const ProfileList = z
  .object({ profiles: z.array(Profile), ...NextCursor })
  .openapi("ProfileList");
export const DefaultProfile = z.object({ name: z.string().nullable() }).openapi("DefaultProfile");

/** Names one version of a profile for a worker; it fetches the body from GET /workers/{id}/profiles/{name}/{sha256}. */
export const ProfileRef = z.object({
  name: z.string().max(64),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  size: z.int().min(0),
});
export type ProfileRef = z.infer<typeof ProfileRef>;
