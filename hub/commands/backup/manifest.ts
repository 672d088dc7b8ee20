import { z } from "zod";

/** Entries of a backup: a tar.gz that ends with its manifest, so one that was cut off has none. */
export const DATABASE_ENTRY = "database.sqlite";
export const OBJECTS_DIR = "objects";
export const PLUGINS_DIR = "plugins";
export const MANIFEST_ENTRY = "manifest.json";

/** Of the layout of the archive; another layout gets another number. */
export const FORMAT = 1;

export const Manifest = z.object({
  format: z.number(),
  /** Of the program that wrote it. */
  version: z.string(),
  created_at: z.string(),
  migrations: z.array(z.object({ name: z.string(), hash: z.string() })),
  /** `[path, size in bytes, sha256 in hex]`, in the order of the archive. */
  files: z.array(z.tuple([z.string(), z.number(), z.string()])),
  /** Keys of objects that rows name and that were gone when their turn came. */
  missing: z.array(z.string()),
});
export type Manifest = z.infer<typeof Manifest>;
