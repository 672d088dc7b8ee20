import { resolve } from "node:path";
import type { HubConfig } from "#hub/platform/config.ts";
import { isPostgres, sqlitePath, unsupported } from "#hub/platform/db/db.ts";
import { quoteWord } from "#hub/platform/quote-word.ts";
import { readS3Url } from "#hub/platform/stores/s3-url.ts";
import { ConfigError } from "#shared/kit/env.ts";
import { CommandRefused } from "../refused.ts";
import type { Bucket } from "./manifest.ts";

/** Where a hub in SQLite mode keeps its data; absolute paths. */
export interface Places {
  database: string;
  /** Null: bodies are in a bucket, whose own tools back them up. */
  objects: string | null;
  plugins: string;
  /** The key file; in a backup only on request. */
  key: string;
}

/** A command to run as printed, without the password: everybody on the machine can see a command line. */
function pgDump(db_url: string): string {
  const url = URL.parse(db_url);
  if (url) url.password = "";
  for (const name of [...(url?.searchParams.keys() ?? [])])
    if (/pass|secret|key|token/i.test(name)) url?.searchParams.delete(name);
  return `pg_dump --format=custom --file=flotilla.dump ${quoteWord(url?.href ?? "DATABASE")}`;
}

export const isS3 = (objects_url: string): boolean => /^s3:/i.test(objects_url.trim());

/** @throws CommandRefused saying what to use instead, where this program cannot back up the data. */
export function placesOf({ db_url, objects_url, plugins_dir, secret_key_file }: HubConfig): Places {
  if (isPostgres(db_url))
    throw new CommandRefused(
      `backup and restore work with SQLite only. For Postgres use ${pgDump(db_url)} (of the server's version or later; it takes the password from PGPASSWORD or asks for it) and pg_restore --clean --if-exists; for bodies, use the versions of the bucket, or copy the directory after the dump`,
    );
  const file = sqlitePath(db_url);
  if (file === null) throw unsupported(db_url);
  if (file === ":memory:") throw new CommandRefused("a database in memory cannot be backed up");
  const [, dir] = /^file:(?:\/\/)?(.+)$/is.exec(objects_url.trim()) ?? [];
  if (dir === undefined && !isS3(objects_url))
    throw new ConfigError(
      `SVC_OBJECTS_URL: ${JSON.stringify(objects_url)} is not supported; use file:<directory> or s3://bucket`,
    );
  const objects = dir === undefined ? null : resolve(dir);
  return {
    database: resolve(file),
    objects,
    plugins: resolve(plugins_dir),
    key: secret_key_file,
  };
}

/** The paths of the data that exist. */
export const pathsOf = ({ database, objects, plugins }: Places): string[] =>
  [database, objects, plugins].filter((path) => path !== null);

/**
 * The bucket whose bodies a backup leaves alone; null: they are in a directory. @throws ConfigError for a wrong URL.
 */
export function bucketOf(objects_url: string): Bucket | null {
  if (!isS3(objects_url)) return null;
  const { endpoint, bucket, prefix } = readS3Url(objects_url);
  return { endpoint, bucket, prefix };
}
