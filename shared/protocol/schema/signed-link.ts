import { z } from "@hono/zod-openapi";
import { LINK_TTL_S } from "../limits.ts";

/** What a signed link opens. */
export const LINK_KINDS = ["viewer", "cdp", "asset"] as const;
export type LinkKind = (typeof LINK_KINDS)[number];

const expires_in_s = z
  .int()
  .min(LINK_TTL_S.least)
  .max(LINK_TTL_S.most)
  .default(LINK_TTL_S.usual)
  .openapi({ description: "How long the link is valid, in seconds; at most seven days." });
const id = (of: string) =>
  z
    .string()
    .min(1)
    .max(64)
    .openapi({ description: `Id of the ${of}.` });

const ViewerLink = z.strictObject({
  kind: z.literal("viewer"),
  id: id("session"),
  mode: z.enum(["view", "take-over"]).default("view"),
  expires_in_s,
});
const CdpLink = z.strictObject({
  kind: z.literal("cdp"),
  id: id("session"),
  mode: z
    .literal("take-over", {
      error:
        "must be take-over: DevTools cannot be restricted to viewing; create a link of kind viewer",
    })
    .default("take-over"),
  expires_in_s,
});
const AssetLink = z.strictObject({
  kind: z.literal("asset"),
  id: id("job"),
  name: z
    .string()
    .min(1)
    .max(512)
    .nullable()
    .default(null)
    .openapi({ description: "The one asset that it opens; null: all assets of the job." }),
  mode: z.literal("view", { error: "must be view: an asset can only be read" }).default("view"),
  expires_in_s,
});

/** Body of POST /links. */
export const CreateSignedLink = z
  .discriminatedUnion("kind", [ViewerLink, CdpLink, AssetLink])
  .openapi("CreateSignedLink");
export type CreateSignedLink = z.infer<typeof CreateSignedLink>;

/** A new link; its URL is a key to what it names and is shown only this once. */
export const SignedLink = z
  .object({
    kind: z.enum(LINK_KINDS),
    id: z.string(),
    name: z.string().nullable(),
    mode: z.enum(["view", "take-over"]),
    url: z.string(),
    expires_at: z.string(),
  })
  .openapi("SignedLink");
export type SignedLink = z.infer<typeof SignedLink>;
