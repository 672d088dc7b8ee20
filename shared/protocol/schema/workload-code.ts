import { z } from "@hono/zod-openapi";
import { NumberCursor } from "./page.ts";

/** Code that a workload carries itself (rules/pipeline-code#code-in-a-workload), and its versions. */

/** UTF-8 bytes of the code of a workload. */
export const MAX_CODE_BYTES = 256 * 1024;
/** Versions of one workload that are kept, the newest. */
export const MAX_VERSIONS = 100;
/** Executors that run code, and the file that they find it in. */
export const CODE_FILES = {
  python_module: { file: "main.py", module: "main" },
  bun_module: { file: "main.ts", module: "main.ts" },
} as const;

export const CodeText = z
  .string()
  .min(1)
  .max(MAX_CODE_BYTES)
  .refine((text) => new TextEncoder().encode(text).length <= MAX_CODE_BYTES, {
    error: `must be at most ${MAX_CODE_BYTES} bytes`,
  })
  .refine((text) => text.isWellFormed() && !text.includes("\u0000"), {
    error: "must not contain NUL or half a surrogate pair",
  })
  .refine((text) => text.trim() !== "", { error: "must not be blank" });

/** Why the code was changed, in its author's words. */
export const VersionNote = z.string().max(500);

/** Body of POST …/versions/{n}/restore. */
export const RestoreVersion = z
  .strictObject({ version_note: VersionNote.default("") })
  .openapi("RestoreVersion");

/** `current`: it is what runs now. `restored_from`: the version it is a copy of. */
export const WorkloadVersion = z
  .object({
    version: z.int(),
    executor_type: z.enum(["python_module", "bun_module"]),
    sha256: z.string(),
    bytes: z.int(),
    note: z.string(),
    created_by: z.string(),
    created_at: z.string(),
    restored_from: z.int().nullable(),
    current: z.boolean(),
  })
  .openapi("WorkloadVersion");
export type WorkloadVersion = z.infer<typeof WorkloadVersion>;
export const WorkloadVersionCode = WorkloadVersion.extend({ code: z.string() }).openapi(
  "WorkloadVersionCode",
);
export type WorkloadVersionCode = z.infer<typeof WorkloadVersionCode>;
export const WorkloadVersionList = z
  .object({ versions: z.array(WorkloadVersion), next_cursor: z.string().nullable() })
  .openapi("WorkloadVersionList");
export const VersionsQuery = z.object({
  limit: z.coerce.number().int().min(1).max(MAX_VERSIONS).default(50),
  cursor: NumberCursor.optional(),
});
export type VersionsQuery = z.infer<typeof VersionsQuery>;
