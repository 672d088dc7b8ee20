import { z } from "zod";

/** Entries of a backup: a tar.gz that ends with its manifest, so one that was cut off has none. */
export const DATABASE_ENTRY = "database.sqlite";
export const OBJECTS_DIR = "objects";
export const PLUGINS_DIR = "plugins";
export const MANIFEST_ENTRY = "manifest.json";

/** Of the layout of the archive; another layout gets another number. */
export const FORMAT = 1;

/** Permissions of what is restored, where the manifest names no others: as the units' UMask makes them. */
export const FILE_MODE = 0o640;
export const DIR_MODE = 0o750;

export const Manifest = z.object({
  format: z.number(),
  /** Of the program that wrote it. */
  version: z.string(),
  created_at: z.string(),
  migrations: z.array(z.object({ name: z.string(), hash: z.string() })),
  /** `[path, size in bytes, sha256 in hex]`, in the order of the archive. */
  files: z.array(z.tuple([z.string(), z.number(), z.string()])),
  /** `[path, permissions]` of files and directories that have others than FILE_MODE and DIR_MODE. */
  modes: z.array(z.tuple([z.string(), z.int().min(0)])).default([]),
  /** Keys of objects that rows name and that were gone when their turn came. */
  missing: z.array(z.string()),
});
export type Manifest = z.infer<typeof Manifest>;
