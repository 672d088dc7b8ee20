import { isoTime } from "#shared/kit/clock.ts";
import { notFound } from "#shared/kit/errors.ts";
import { type Leases, MAX_LEASES } from "#shared/protocol/schema/pull-daemon.ts";
import type { PipelineContext } from "../context.ts";

/**
 * GET /workers/{id}/leases: the tasks that a worker holds according to the queue, not to the worker; the lease that
 * ends first comes first. @throws AppError not_found
 */
export async function getLeases(
  ctx: Pick<PipelineContext, "db" | "pipeline">,
  worker_id: string,
): Promise<Leases> {
  const { db, pipeline } = ctx;
  const [worker, now, rows, workloads] = await Promise.all([
    db.pull_workers.get(worker_id),
    pipeline.store.now(),
    db.views.leases(worker_id, MAX_LEASES),
    db.workloads.list(),
  ]);
  if (!worker) throw notFound("worker");
  const slugs = new Map(workloads.map((row) => [row.workload_id, row.slug]));
  return {
    at: isoTime(now),
    leases: rows.flatMap(({ workload_id, claimed_at, lease_until, ...row }) => {
      const workload = slugs.get(workload_id);
      if (workload === undefined || claimed_at === null || lease_until === null) return [];
      return [
        { ...row, workload, claimed_at: isoTime(claimed_at), lease_until: isoTime(lease_until) },
      ];
    }),
  };
}
