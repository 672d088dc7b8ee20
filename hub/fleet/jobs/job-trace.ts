import type { JobRow } from "#hub/platform/db/rows.ts";
import { currentTrace } from "#hub/platform/tracing/current-trace.ts";
import { childOf, formatTraceparent } from "#shared/kit/tracing/trace-context.ts";
import type { FleetContext } from "../context.ts";

type TraceDeps = Pick<FleetContext, "tracer">;

const keyOf = (job_id: string) => `job:${job_id}`;

/**
 * Gives a job that is about to be stored its span, within the call that submits it (rules/spans#a-job). The span is
 * sent when the job has ended, by whichever hub announces that.
 */
export async function beginJobTrace({ tracer }: TraceDeps, row: JobRow): Promise<void> {
  if (tracer === null) return;
  const parent = currentTrace();
  const traceparent = formatTraceparent(childOf(parent));
  const parent_id = parent?.span_id ?? null;
  await tracer.kept.keep(keyOf(row.job_id), { traceparent, parent_id, at: row.created_at });
}

/** What the worker of the job gets, so that its spans are within the job's; undefined: it has no trace. */
export async function traceparentOf(
  { tracer }: TraceDeps,
  job_id: string,
): Promise<string | undefined> {
  if (tracer === null) return undefined;
  const kept = await tracer.kept.find(keyOf(job_id));
  return kept === null ? undefined : formatTraceparent(kept.context);
}

/** Sends the span of a job that has ended, and that of its wait for a lane. */
export async function endJobTrace({ tracer }: TraceDeps, row: JobRow): Promise<void> {
  if (tracer === null) return;
  const { job_id, host, status, worker_id, created_at: from, started_at, finished_at } = row;
  const kept = await tracer.kept.find(keyOf(job_id));
  if (kept === null) return;
  const { context, parent_id } = kept;
  const to = finished_at ?? from;
  const kind = "internal" as const;
  tracer.tell(context, {
    name: "job",
    kind,
    parent_id,
    from,
    to,
    attributes: {
      "flotilla.job.id": job_id,
      "flotilla.job.status": status,
      "server.address": host,
      ...(worker_id !== null && { "flotilla.worker.id": worker_id }),
    },
    failure: status === "failed" ? "the job failed" : null,
  });
  tracer.tell(childOf(context), {
    name: "job queued",
    kind,
    parent_id: context.span_id,
    from,
    to: started_at ?? to,
    attributes: { "flotilla.job.id": job_id },
    failure: null,
  });
  await tracer.kept.forget(keyOf(job_id));
}
