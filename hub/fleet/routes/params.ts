import { z } from "@hono/zod-openapi";

/** Path parameters are any text here: a text that cannot name anything is simply not found. */
const param = (name: string, example: string) =>
  z.string().openapi({ param: { name, in: "path" }, example });

export const JobParams = z.object({ id: param("id", "k3v9x0a1b2c3d4") });
export const ComparisonParams = JobParams.extend({ other: param("other", "p7m2c4d8f1g6h0") });
export const AssetParams = JobParams.extend({ name: param("name", "logo.png") });
export const SessionParams = z.object({ sid: param("sid", "V1StGXR8Z5jdHi6BmyT3KA") });
export const SessionBodyParams = SessionParams.extend({
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .openapi({ param: { name: "sha256", in: "path" }, example: "0f".repeat(32) }),
});
export const SessionFileParams = SessionParams.extend({ name: param("name", "report.pdf") });
export const TargetParams = SessionParams.extend({
  target: param("target", "8B5F4B8A0C3D4E5F"),
});
export const WorkerParams = z.object({ id: param("id", "w123") });
export const HostParams = z.object({ host: param("host", "example.org") });
export const ExtensionFileParams = z.object({ name: param("name", "manifest.json") });
export const SignedLinkParams = z.object({ link: param("link", "2Jp…Q.x9A…w") });
export const AssetOfLinkParams = SignedLinkParams.extend({ name: param("name", "logo.png") });
export const RecipeParams = HostParams.extend({ index: param("index", "0") });
export const ProfileParams = z.object({ name: param("name", "work") });
export const WatchParams = z.object({ watch_id: param("watch_id", "k3v9x0a1b2c3d4") });
export const SlugParams = z.object({ slug: param("slug", "local") });
export const LinkParams = z.object({ worker_id: param("worker_id", "w123") });
export const BatchParams = LinkParams.extend({ job_id: param("job_id", "k3v9x0a1b2c3d4") });
export const WorkerProfileParams = LinkParams.extend({
  name: param("name", "work"),
  sha256: param("sha256", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"),
});
export const SessionOfWorkerParams = LinkParams.extend({
  session_id: param("session_id", "V1StGXR8Z5jdHi6BmyT1aQ"),
});
export const SaveProfileParams = z.object({ sid: param("sid", "V1StGXR8Z5jdHi6BmyT1aQ") });
export const SessionProfileParams = LinkParams.extend({
  session_id: param("session_id", "V1StGXR8Z5jdHi6BmyT1aQ"),
  name: param("name", "work"),
});
export const UploadParams = BatchParams.extend({
  name: param("name", "logo.png"),
});

export const DirectUploadParams = BatchParams.extend({
  upload_id: param("upload_id", "0b0e6d4e-5d0a-4b0e-9d53-0f6f4a4a3c11"),
});

export const IdempotencyHeader = z.object({
  "idempotency-key": z.string().optional().openapi({
    description: "Same key and body within 24 h: the first answer again. Different body: 409.",
  }),
});

export const PreferHeader = z.object({
  prefer: z.string().optional().openapi({
    description: "`respond-async`: answer at once, without waiting for a lane (RFC 7240).",
  }),
});
