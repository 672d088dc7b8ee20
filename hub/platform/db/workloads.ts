import { and, asc, eq, inArray, sql } from "drizzle-orm";
import type { Conn } from "./conn.ts";
import { first } from "./first.ts";
import { laterThan } from "./not-before.ts";
import type { NewVersion, OwnState, WorkloadsRepo } from "./pipeline-types.ts";
import type { WorkloadRow } from "./rows.ts";

/**
 * Stores the code of a workload whose row was just given that version, in the same transaction: the number is the row's
 * own, so two who save at the same time never get the same. Nothing when the row was not changed, because then its
 * version is there already.
 */
const storeVersion = (
  { q, t: { workloads, workload_versions } }: Conn,
  slug: string,
  { plugin_sha256, ...code }: NewVersion,
) => {
  const known = sql`exists (select 1 from ${workload_versions} where ${workload_versions.workload_id} = ${workloads.workload_id} and ${workload_versions.version} = ${workloads.code_version})`;
  return q
    .insert(workload_versions)
    .select(
      q
        .select({
          workload_id: workloads.workload_id,
          version: workloads.code_version,
          executor_type: sql`${code.executor_type}`.as("executor_type"),
          code: sql`${code.code}`.as("code"),
          sha256: sql`${code.sha256}`.as("sha256"),
          bytes: sql`cast(${code.bytes} as integer)`.as("bytes"),
          note: sql`${code.note}`.as("note"),
          created_by: sql`${code.created_by}`.as("created_by"),
          restored_from: sql`cast(${code.restored_from} as integer)`.as("restored_from"),
          created_at: sql`cast(${code.created_at} as bigint)`.as("created_at"),
        })
        .from(workloads)
        .where(
          and(
            eq(workloads.slug, slug),
            eq(workloads.code_sha256, plugin_sha256),
            sql`not ${known}`,
          ),
        ) as never,
    )
    .onConflictDoNothing();
};

/** Deletes what belongs to no workload any more. The statement itself judges whether there is one of that name. */
function forgetState({ q, t: { plugin_state, workloads } }: Conn, own: OwnState | undefined) {
  if (!own) return [];
  const prefix = `${own.workload}/`;
  const its = sql`substr(${plugin_state.key}, 1, length(${prefix})) = ${prefix}`;
  const gone = sql`not exists (select 1 from ${workloads} where ${workloads.slug} = ${own.workload})`;
  return [q.delete(plugin_state).where(and(eq(plugin_state.slug, own.plugin), its, gone))];
}

export function workloadsRepo(conn: Conn): WorkloadsRepo {
  const { q, t, atomic } = conn;
  const { workloads } = t;
  const get = async (slug: string) =>
    first(await q.select().from(workloads).where(eq(workloads.slug, slug)));
  const updating = (
    slug: string,
    { updated_at, ...set }: Partial<WorkloadRow>,
    versions: readonly number[] | undefined,
    more: object = {},
  ) => {
    const risen =
      updated_at === undefined ? {} : { updated_at: laterThan(workloads.updated_at, updated_at) };
    const expected = versions && inArray(workloads.updated_at, [...versions]);
    return q
      .update(workloads)
      .set({ ...set, ...risen, ...more })
      .where(and(eq(workloads.slug, slug), expected))
      .returning();
  };
  return {
    insert: async (row, code, own) => {
      const has = code ? { code_version: 1, code_sha256: code.plugin_sha256 } : {};
      const forgotten = forgetState(conn, own);
      const done = await atomic([
        ...forgotten,
        q
          .insert(workloads)
          .values({ ...row, ...has })
          .onConflictDoNothing()
          .returning(),
        ...(code ? [storeVersion(conn, row.slug, code)] : []),
      ]);
      return done[forgotten.length]?.length ? get(row.slug) : null;
    },
    get,
    list: () => q.select().from(workloads).orderBy(asc(workloads.slug)),
    update: async (slug, set, versions) => first<WorkloadRow>(await updating(slug, set, versions)),
    updateCode: async (slug, set, code, versions) => {
      const [changed = []] = await atomic([
        updating(slug, set, versions, {
          code_version: sql`${workloads.code_version} + 1`,
          code_sha256: code.plugin_sha256,
        }),
        storeVersion(conn, slug, code),
      ]);
      return changed.length === 0 ? null : get(slug);
    },
    // One statement decides; a later claim finds no workload. It uses the counters, because finding a claimed task
    // among a million ready ones takes as long as reading them all.
    delete: async (workload_id, force, own) => {
      const { workload_stats } = t;
      const claimed = sql`coalesce((select sum(${workload_stats.claimed}) from ${workload_stats} where ${workload_stats.workload_id} = ${workload_id}), 0)`;
      const [deleted = []] = await atomic([
        q
          .delete(workloads)
          .where(
            force
              ? eq(workloads.workload_id, workload_id)
              : sql`${workloads.workload_id} = ${workload_id} and ${claimed} <= 0`,
          )
          .returning({ workload_id: workloads.workload_id }),
        ...forgetState(conn, own),
      ]);
      return deleted.length > 0;
    },
  };
}
