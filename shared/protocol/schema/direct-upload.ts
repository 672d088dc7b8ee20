import { z } from "@hono/zod-openapi";
import { AssetMeta } from "./asset.ts";

/** A worker's announcement of a body that it wants to put into the object store itself. */
export const DirectUploadBody = z
  .object({ size: z.int().min(0), sha256: z.string().regex(/^[0-9a-f]{64}$/) })
  .openapi("DirectUploadBody");

/** The request to send: PUT `url` with `headers` and the body, within a quarter of an hour. */
export const DirectUpload = z
  .object({
    id: z.string().max(64),
    url: z.string().max(8_192),
    headers: z.record(z.string(), z.string()),
  })
  .openapi("DirectUpload");
export type DirectUpload = z.infer<typeof DirectUpload>;

/** Sent once the body is in the object store. */
export const DirectUploadDone = AssetMeta.extend(DirectUploadBody.shape).openapi(
  "DirectUploadDone",
);
export type DirectUploadDone = z.infer<typeof DirectUploadDone>;
