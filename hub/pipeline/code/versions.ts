import type { WorkloadRow, WorkloadVersionRow } from "#hub/platform/db/rows.ts";
import { pageOfRows } from "#hub/platform/page-of-rows.ts";
import { isoTime } from "#shared/kit/clock.ts";
import { notFound } from "#shared/kit/errors.ts";
import type {
  VersionsQuery,
  WorkloadVersion,
  WorkloadVersionCode,
} from "#shared/protocol/schema/workload-code.ts";
import type { PipelineContext } from "../context.ts";

const record = (row: WorkloadRow, version: Omit<WorkloadVersionRow, "code">): WorkloadVersion => ({
  version: version.version,
  executor_type: version.executor_type as WorkloadVersion["executor_type"],
  sha256: version.sha256,
  bytes: version.bytes,
  note: version.note,
  created_by: version.created_by,
  created_at: isoTime(version.created_at),
  restored_from: version.restored_from,
  current: row.code_sha256 !== null && row.code_version === version.version,
});

/** @throws AppError not_found */
const rowOf = async ({ db }: Pick<PipelineContext, "db">, slug: string): Promise<WorkloadRow> => {
  const row = await db.workloads.get(slug);
  if (!row) throw notFound("workload");
  return row;
};

/** Newest first. @throws AppError not_found */
export async function listVersions(
  ctx: Pick<PipelineContext, "db">,
  slug: string,
  { limit, cursor }: VersionsQuery,
): Promise<{ versions: WorkloadVersion[]; next_cursor: string | null }> {
  const row = await rowOf(ctx, slug);
  const { page, next_cursor } = await pageOfRows(
    limit,
    (rows) =>
      ctx.db.workload_versions.list(row.workload_id, { before: cursor ?? null, limit: rows }),
    ({ version }) => String(version),
  );
  return { versions: page.map((version) => record(row, version)), next_cursor };
}

/** With its code. @throws AppError not_found */
export async function getVersion(
  ctx: Pick<PipelineContext, "db">,
  slug: string,
  version: number,
): Promise<WorkloadVersionCode> {
  const row = await rowOf(ctx, slug);
  const found = await ctx.db.workload_versions.get(row.workload_id, version);
  if (!found) throw notFound("version");
  return { ...record(row, found), code: found.code };
}
