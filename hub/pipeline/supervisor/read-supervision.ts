import type { SupervisedRow, WorkloadRow } from "#hub/platform/db/rows.ts";
import { isoTimeOrNull } from "#shared/kit/clock.ts";
import { notFound } from "#shared/kit/errors.ts";
import type { Supervision } from "#shared/protocol/schema/supervisor.ts";
import type { PipelineContext } from "../context.ts";

const supervision = (workload: WorkloadRow, row: SupervisedRow | null): Supervision => ({
  workload: workload.slug,
  supervisor_enabled: workload.supervisor_enabled,
  paused_at: isoTimeOrNull(workload.enabled ? null : (row?.paused_at ?? null)),
  problem: row?.problem ?? null,
  problem_since: isoTimeOrNull(row?.problem_at ?? null),
  action: row?.action ?? null,
  reason: row?.reason ?? null,
  action_at: isoTimeOrNull(row?.action_at ?? null),
});

/** GET /workloads/{slug}/supervisor. @throws AppError not_found */
export async function getSupervision(
  ctx: Pick<PipelineContext, "db">,
  slug: string,
): Promise<Supervision> {
  const workload = await ctx.db.workloads.get(slug);
  if (!workload) throw notFound("workload");
  return supervision(workload, await ctx.db.supervised.get(workload.workload_id));
}

/** Those of `workloads` that the supervisor has paused or sees a problem with. */
export async function listTroubled(
  ctx: Pick<PipelineContext, "db">,
  workloads: readonly WorkloadRow[],
): Promise<Supervision[]> {
  const rows = new Map((await ctx.db.supervised.troubled()).map((row) => [row.workload_id, row]));
  return workloads.flatMap((workload) => {
    const told = supervision(workload, rows.get(workload.workload_id) ?? null);
    return told.paused_at === null && told.problem === null ? [] : [told];
  });
}
