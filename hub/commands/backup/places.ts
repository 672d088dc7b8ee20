import { resolve } from "node:path";
import { quoteWord } from "#shared/quote-word.ts";
import type { HubConfig } from "../../config.ts";
import { isPostgres, sqlitePath, unsupported } from "../../db/db.ts";
import { CommandRefused } from "../refused.ts";

/** Where a hub in SQLite mode keeps its data; absolute paths. */
export interface Places {
  database: string;
  objects: string;
  plugins: string;
}

/** To be run as it is printed: without the password, which a command line would show to everybody on the machine. */
function pgDump(db_url: string): string {
  const url = URL.parse(db_url);
  if (url) url.password = "";
  for (const name of [...(url?.searchParams.keys() ?? [])])
    if (/pass|secret|key|token/i.test(name)) url?.searchParams.delete(name);
  return `pg_dump --format=custom --file=flotilla.dump ${quoteWord(url?.href ?? "DATABASE")}`;
}

/** @throws CommandRefused saying what to use where this program's backup is not the means. */
export function placesOf({ db_url, objects_url, plugins_dir }: HubConfig): Places {
  if (isPostgres(db_url))
    throw new CommandRefused(
      `backup and restore are for SQLite. For Postgres: ${pgDump(db_url)} (of the server's version or later; PGPASSWORD has the password, or it asks), and pg_restore --clean --if-exists; bodies: the versions of the bucket, or a copy of the directory after the dump`,
    );
  const file = sqlitePath(db_url);
  if (file === null) throw unsupported(db_url);
  if (file === ":memory:") throw new CommandRefused("a database in memory cannot be backed up");
  const [, dir] = /^file:(?:\/\/)?(.+)$/is.exec(objects_url.trim()) ?? [];
  if (dir === undefined)
    throw new CommandRefused(
      "backup and restore are for bodies in a directory. For S3: switch the bucket's versioning on, and keep the database with sqlite3 FILE '.backup COPY' before it",
    );
  return { database: resolve(file), objects: resolve(dir), plugins: resolve(plugins_dir) };
}
