import type { StoredDocument } from "#shared/protocol/documents.ts";
import type { AssetKind, ByteRange } from "#shared/protocol/schema/asset.ts";
import type { ColumnKit } from "../kit.pg.ts";
import type { JobIds } from "./jobs.ts";

/** The files of jobs; the object store has what is in them. */
export function defineFileTables(c: ColumnKit, jobs: JobIds) {
  /** Asset item (rules/capture#assets); the body is in the object store under `jobs/<job_id>/assets/<name>`. */
  const assets = c.table(
    "assets",
    {
      job_id: c
        .str("job_id")
        .notNull()
        .references(() => jobs.job_id, { onDelete: "cascade" }),
      name: c.str("name").notNull(),
      position: c.int("position").notNull(),
      kind: c.str("kind").$type<AssetKind>().notNull(),
      mime: c.str("mime").notNull(),
      ext: c.str("ext").notNull(),
      size: c.big("size").notNull(),
      sha256: c.str("sha256").notNull(),
      source_url: c.str("source_url").notNull(),
      page_url: c.str("page_url").notNull(),
      frame_url: c.str("frame_url"),
      status: c.int("status"),
      from_cache: c.bool("from_cache").notNull(),
      from_service_worker: c.bool("from_service_worker").notNull(),
      partial: c.bool("partial").notNull(),
      refetched: c.bool("refetched").notNull().default(false),
      ranges: c.json<ByteRange[]>("ranges").notNull(),
    },
    (t) => [c.primaryKey({ columns: [t.job_id, t.name] })],
  );

  /** How large the documents are that the object store keeps of a job (rules/documents). */
  const documents = c.table(
    "documents",
    {
      job_id: c
        .str("job_id")
        .notNull()
        .references(() => jobs.job_id, { onDelete: "cascade" }),
      name: c.str("name").$type<StoredDocument>().notNull(),
      size: c.big("size").notNull(),
    },
    (t) => [c.primaryKey({ columns: [t.job_id, t.name] })],
  );
  return { assets, documents };
}
