import { isoTimeOrNull } from "#shared/clock.ts";
import { notFound } from "#shared/errors.ts";
import type { Supervision } from "#shared/schema/supervisor.ts";
import type { ControlContext } from "../context.ts";

/** GET /workloads/{slug}/supervisor. @throws AppError not_found */
export async function getSupervision(ctx: ControlContext, slug: string): Promise<Supervision> {
  const workload = await ctx.db.workloads.get(slug);
  if (!workload) throw notFound("workload");
  const row = await ctx.db.supervised.get(workload.workload_id);
  return {
    workload: slug,
    supervisor_enabled: workload.supervisor_enabled,
    paused_at: isoTimeOrNull(workload.enabled ? null : (row?.paused_at ?? null)),
    problem: row?.problem ?? null,
    problem_since: isoTimeOrNull(row?.problem_at ?? null),
    action: row?.action ?? null,
    reason: row?.reason ?? null,
    action_at: isoTimeOrNull(row?.action_at ?? null),
  };
}
