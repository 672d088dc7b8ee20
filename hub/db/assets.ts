import { and, asc, eq, getTableColumns, inArray, sql } from "drizzle-orm";
import type { Conn } from "./conn.ts";
import type { AssetRow, AssetsRepo } from "./types.ts";

export function assetsRepo({ q, t: { assets, jobs }, atomic, lockRows }: Conn): AssetsRepo {
  return {
    put: async (row, lease_token) => {
      // A cancelled job keeps what its lane had already captured; its token stays on the row.
      const leased = and(
        eq(jobs.job_id, row.job_id),
        eq(jobs.lease_token, lease_token),
        inArray(jobs.status, ["running", "cancelled"]),
      );
      const same = and(eq(assets.job_id, row.job_id), eq(assets.name, row.name));
      const ofJob = eq(assets.job_id, row.job_id);
      const one = q.select({ size: assets.size }).from(assets).where(same);
      const next = q
        .select({ next: sql`coalesce(max(${assets.position}), -1) + 1` })
        .from(assets)
        .where(ofJob);
      const values: Record<string, unknown> = row;
      const source = Object.entries(getTableColumns(assets)).map(([name, column]) =>
        name === "position" ? sql`${next}` : sql`${sql.param(values[name], column)}`,
      );
      const [held] = await atomic([
        // Puts of one job wait here for each other: the statements below then see every asset the others wrote.
        lockRows(q.select({ job_id: jobs.job_id }).from(jobs).where(leased)),
        q
          .update(jobs)
          .set({
            asset_count: sql`${jobs.asset_count} + case when exists ${one} then 0 else 1 end`,
            asset_bytes: sql`${jobs.asset_bytes} + ${sql.param(row.size, assets.size)} - coalesce(${one}, 0)`,
          })
          .where(leased),
        q
          .insert(assets)
          .select(sql`select ${sql.join(source, sql`, `)} from ${jobs} where ${leased}`)
          .onConflictDoUpdate({ target: [assets.job_id, assets.name], set: replaced(row) }),
      ]);
      return held !== undefined && held.length > 0;
    },
    list: async (job_id) =>
      q.select().from(assets).where(eq(assets.job_id, job_id)).orderBy(asc(assets.position)),
    get: async (job_id, name) => {
      const [row] = await q
        .select()
        .from(assets)
        .where(and(eq(assets.job_id, job_id), eq(assets.name, name)));
      return row ?? null;
    },
  };
}

/** Everything but the key and the position, which stays that of the first put. */
const replaced = ({ job_id, name, ...rest }: Omit<AssetRow, "position">) => rest;
