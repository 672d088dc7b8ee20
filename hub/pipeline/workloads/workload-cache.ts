import type { WorkloadRow } from "#hub/platform/db/rows.ts";
import type { Db } from "#hub/platform/db/storage.ts";
import { notFound } from "#shared/kit/errors.ts";

/** Every claim needs its workloads, so they are read from here and not from the database. */
export interface WorkloadCache {
  all(): readonly WorkloadRow[];
  bySlug(slug: string): WorkloadRow | undefined;
  byId(workload_id: number): WorkloadRow | undefined;
  /** Reads the database when the slug is unknown here. */
  find(slug: string): Promise<WorkloadRow | null>;
  /** As `find`. @throws AppError not_found */
  require(slug: string): Promise<WorkloadRow>;
  /** Stores a row that was just written; null removes the slug. */
  set(slug: string, row: WorkloadRow | null): void;
  /** Reads everything again, because other control processes write too. */
  refresh(): Promise<void>;
}

export function createWorkloadCache(db: Pick<Db, "workloads">): WorkloadCache {
  let bySlug = new Map<string, WorkloadRow>();
  let byId = new Map<number, WorkloadRow>();
  const index = () => {
    byId = new Map([...bySlug.values()].map((row) => [row.workload_id, row]));
  };
  /** Counts writes made here, so that a list read before a write does not undo it. */
  let written = 0;
  const set = (slug: string, row: WorkloadRow | null) => {
    written += 1;
    if (row) bySlug.set(slug, row);
    else bySlug.delete(slug);
    index();
  };
  const find = async (slug: string): Promise<WorkloadRow | null> => {
    const known = bySlug.get(slug);
    if (known) return known;
    const row = await db.workloads.get(slug);
    if (row) set(slug, row);
    return row;
  };
  return {
    all: () => [...bySlug.values()],
    bySlug: (slug) => bySlug.get(slug),
    byId: (workload_id) => byId.get(workload_id),
    find,
    require: async (slug) => {
      const row = await find(slug);
      if (!row) throw notFound("workload");
      return row;
    },
    set,
    refresh: async () => {
      const before = written;
      const rows = await db.workloads.list();
      if (written !== before) return;
      bySlug = new Map(rows.map((row) => [row.slug, row]));
      index();
    },
  };
}
