import { notFound } from "#shared/errors.ts";
import type { Db, WorkloadRow } from "../db/types.ts";

/** Every claim asks for its workloads: they are read from here, not from the database. */
export interface WorkloadCache {
  all(): readonly WorkloadRow[];
  bySlug(slug: string): WorkloadRow | undefined;
  byId(workload_id: number): WorkloadRow | undefined;
  /** Reads the database when the slug is not known here. @throws AppError not_found */
  require(slug: string): Promise<WorkloadRow>;
  /** Takes in a row that was just written; null takes the slug out. */
  set(slug: string, row: WorkloadRow | null): void;
  /** Reads all again: other control processes write too. */
  refresh(): Promise<void>;
}

export function createWorkloadCache(db: Pick<Db, "workloads">): WorkloadCache {
  let bySlug = new Map<string, WorkloadRow>();
  let byId = new Map<number, WorkloadRow>();
  const index = () => {
    byId = new Map([...bySlug.values()].map((row) => [row.workload_id, row]));
  };
  const set = (slug: string, row: WorkloadRow | null) => {
    if (row) bySlug.set(slug, row);
    else bySlug.delete(slug);
    index();
  };
  return {
    all: () => [...bySlug.values()],
    bySlug: (slug) => bySlug.get(slug),
    byId: (workload_id) => byId.get(workload_id),
    require: async (slug) => {
      const known = bySlug.get(slug);
      if (known) return known;
      const row = await db.workloads.get(slug);
      if (!row) throw notFound("workload");
      set(slug, row);
      return row;
    },
    set,
    refresh: async () => {
      const rows = await db.workloads.list();
      bySlug = new Map(rows.map((row) => [row.slug, row]));
      index();
    },
  };
}
