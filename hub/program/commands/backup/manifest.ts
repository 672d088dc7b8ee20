import { z } from "zod";

/** Entries of a backup: a tar.gz that ends with its manifest, so a truncated one has none. */
export const DATABASE_ENTRY = "database.sqlite";
export const OBJECTS_DIR = "objects";
export const PLUGINS_DIR = "plugins";
/** The key file, if the backup was asked to include it. */
export const KEY_ENTRY = "secret.key";
export const MANIFEST_ENTRY = "manifest.json";

/** Version of the archive's layout; a different layout gets a different number. */
export const FORMAT = 1;
/** Without bodies, which are in `bucket`: a program that does not know the field must not restore it. */
export const BUCKET_FORMAT = 2;
/** With the key file. */
export const KEY_FORMAT = 3;

/** The bucket whose bodies are not in the backup, left to the bucket's own tools; no secrets. */
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

/** Permissions of restored files, unless the manifest names others: those that the units' UMask gives. */
export const FILE_MODE = 0o640;
export const DIR_MODE = 0o750;

export const Manifest = z.object({
  format: z.number(),
  /** Version of the program that wrote it. */
  version: z.string(),
  created_at: z.string(),
  migrations: z.array(z.object({ name: z.string(), hash: z.string() })),
  /** `[path, size in bytes, sha256 in hex]`, in the order of the archive. */
  files: z.array(z.tuple([z.string(), z.number(), z.string()])),
  /** `[path, permissions]` of files and directories whose permissions differ from FILE_MODE and DIR_MODE. */
  modes: z.array(z.tuple([z.string(), z.int().min(0)])).default([]),
  /** Keys of objects that rows name and that were gone when they were about to be copied. */
  missing: z.array(z.string()),
  /** Null: the bodies are in the archive. */
  bucket: Bucket.nullable().default(null),
});
export type Manifest = z.infer<typeof Manifest>;
