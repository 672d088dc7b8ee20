import { z } from "zod";

/** Entries of a backup: a tar.gz that ends with its manifest, so one that was cut off has none. */
export const DATABASE_ENTRY = "database.sqlite";
export const OBJECTS_DIR = "objects";
export const PLUGINS_DIR = "plugins";
/** The file of keys, in a backup that was asked to include it. */
export const KEY_ENTRY = "secret.key";
export const MANIFEST_ENTRY = "manifest.json";

/** Version of the archive's layout; a different layout gets a different number. */
export const FORMAT = 1;
/** Without bodies, which are in `bucket`: a program that does not know the field must not restore it. */
export const BUCKET_FORMAT = 2;
/** With the file of keys. */
export const KEY_FORMAT = 3;

/** Where bodies are that a backup leaves to the bucket's own tools; no secrets. */
export const Bucket = z.object({
  /** Origin of the S3 server. */
  endpoint: z.string(),
  bucket: z.string(),
  /** Begins every key: empty, or ending with a slash. */
  prefix: z.string(),
});
export type Bucket = z.infer<typeof Bucket>;

export const bucketText = ({ endpoint, bucket, prefix }: Bucket): string =>
  `bucket ${bucket} at ${endpoint}${prefix === "" ? "" : `, below ${prefix}`}`;

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
  /** Null: the bodies are in the archive. */
  bucket: Bucket.nullable().default(null),
});
export type Manifest = z.infer<typeof Manifest>;
