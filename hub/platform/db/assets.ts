import { and, asc, eq, getTableColumns, inArray, sql } from "drizzle-orm";
import { bindable } from "./bindable.ts";
import type { Conn } from "./conn.ts";
import type { AssetsRepo } from "./fleet-types.ts";
import type { AssetRow } from "./rows.ts";

export function assetsRepo({ q, t: { assets, jobs }, atomic, lockRows }: Conn): AssetsRepo {
  // A cancelled job keeps what its lane had already captured; its token stays on the row.
  const leased = and(
    eq(jobs.job_id, sql.placeholder("job_id")),
    eq(jobs.lease_token, sql.placeholder("lease_token")),
    inArray(jobs.status, ["running", "cancelled"]),
  );
  const ofJob = eq(assets.job_id, sql.placeholder("job_id"));
  const same = and(ofJob, eq(assets.name, sql.placeholder("name")));
  const one = q.select({ size: assets.size }).from(assets).where(same);
  const next = q
    .select({ next: sql`coalesce(max(${assets.position}), -1) + 1` })
    .from(assets)
    .where(ofJob);
  const columns = Object.entries(getTableColumns(assets));
  const source = columns.map(([name, column]) =>
    name === "position" ? sql`${next}` : sql`${sql.param(sql.placeholder(name), column)}`,
  );
  // All columns but the key and the position, which stays that of the first put.
  const replaced = columns
    .filter(([name]) => !["job_id", "name", "position"].includes(name))
    .map(([name, column]) => [name, sql`excluded.${sql.identifier(column.name)}`]);

  // Built once, because building it takes longer than running it.
  const hold = bindable(lockRows(q.select({ job_id: jobs.job_id }).from(jobs).where(leased)));
  const count = bindable(
    q
      .update(jobs)
      .set({
        asset_count: sql`${jobs.asset_count} + case when exists ${one} then 0 else 1 end`,
        asset_bytes: sql`${jobs.asset_bytes} + ${sql.param(sql.placeholder("size"), assets.size)} - coalesce(${one}, 0)`,
      })
      .where(leased),
  );
  const insert = bindable(
    q
      .insert(assets)
      .select(sql`select ${sql.join(source, sql`, `)} from ${jobs} where ${leased}`)
      .onConflictDoUpdate({
        target: [assets.job_id, assets.name],
        set: Object.fromEntries(replaced),
      }),
  );
  const get = q.select().from(assets).where(same).prepare("get_asset");

  const repo: AssetsRepo = {
    put: (row, lease_token) => repo.putMany(row.job_id, [row], lease_token),
    putMany: async (job_id, rows, lease_token) => {
      const [held] = await atomic([
        // Puts of one job wait here for each other, so the statements below see every asset that the others wrote.
        hold({ job_id, lease_token }),
        ...rows.flatMap((row) => {
          const values = { ...row, job_id, lease_token };
          return [count(values), insert(values)];
        }),
      ]);
      return held !== undefined && held.length > 0;
    },
    list: async (job_id, limit) => {
      const all = q
        .select()
        .from(assets)
        .where(eq(assets.job_id, job_id))
        .orderBy(asc(assets.position));
      return limit === undefined ? all : all.limit(limit);
    },
    get: async (job_id, name) => {
      const [row] = await get.execute({ job_id, name });
      return row ?? null;
    },
    find: async (job_id, names): Promise<AssetRow[]> =>
      q
        .select()
        .from(assets)
        .where(and(eq(assets.job_id, job_id), inArray(assets.name, names))),
  };
  return repo;
}
