import { dirname } from "node:path";
import type { HubConfig } from "#hub/platform/config.ts";
import { sqlitePath } from "#hub/platform/db/db.ts";
import type { WrittenDir } from "#hub/platform/stores/disk-room.ts";

/** The directories of this machine that a hub or control plane of this configuration writes to. */
export function writtenDirs({
  db_url,
  objects_url,
  data_dir,
}: Pick<HubConfig, "db_url" | "objects_url" | "data_dir">): WrittenDir[] {
  const file = sqlitePath(db_url);
  const objects = /^file:(?:\/\/)?(.+)$/is.exec(objects_url.trim())?.[1];
  return [
    ...(file === null || file === ":memory:"
      ? []
      : [{ what: "the database (SVC_DB_URL)", dir: dirname(file) }]),
    ...(objects === undefined
      ? []
      : [{ what: "the object store (SVC_OBJECTS_URL)", dir: objects }]),
    { what: "the data directory (SVC_DATA_DIR)", dir: data_dir },
  ];
}
