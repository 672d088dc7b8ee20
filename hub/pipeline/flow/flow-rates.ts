import type { z } from "@hono/zod-openapi";
import {
  type FlowRates,
  RATE_METRICS,
  type RateMetric,
  type RatesQuery,
} from "#shared/protocol/schema/flow.ts";
import type { PipelineContext } from "../context.ts";

export const MINUTE_MS = 60_000;
/** Series of one answer: twenty series of 2,880 points make a megabyte. The busiest are kept. */
const MAX_SERIES = 200;

export const minuteOf = (ms: number): number => Math.floor(ms / MINUTE_MS) * MINUTE_MS;

/**
 * GET /flow/rates (rules/pipeline-views#flow-rates): what happened in each of the last `since_min` minutes, the running
 * one included. A series without any event is included only when both its workload and its metric were requested.
 * @throws AppError not_found
 */
export async function getRates(
  ctx: Pick<PipelineContext, "db" | "pipeline">,
  { since_min, slug, metric }: z.infer<typeof RatesQuery>,
): Promise<FlowRates> {
  const { db, pipeline } = ctx;
  const one = slug ? await pipeline.workloads.require(slug) : null;
  const first = minuteOf(await pipeline.store.now()) - (since_min - 1) * MINUTE_MS;
  const rows = await db.flow.rates({
    since: first,
    workload_id: one?.workload_id,
    metric: metric || undefined,
  });
  const slugs = new Map((await db.workloads.list()).map((w) => [w.workload_id, w.slug]));
  const series = new Map<string, { slug: string; metric: RateMetric; sum: number; n: number[] }>();
  const seriesOf = (of: string, name: RateMetric) => {
    const key = `${of} ${name}`;
    const known = series.get(key);
    if (known) return known;
    const made = { slug: of, metric: name, sum: 0, n: new Array<number>(since_min).fill(0) };
    series.set(key, made);
    return made;
  };
  if (one && metric) seriesOf(one.slug, metric);
  for (const row of rows) {
    const of = slugs.get(row.workload_id);
    const i = (row.minute - first) / MINUTE_MS;
    if (of === undefined || i >= since_min || !isMetric(row.metric)) continue;
    const into = seriesOf(of, row.metric);
    into.n[i] = (into.n[i] ?? 0) + row.n;
    into.sum += row.n;
  }
  const busiest = [...series.values()].sort((a, b) => b.sum - a.sum).slice(0, MAX_SERIES);
  return {
    since_min,
    bucket_s: 60,
    series: busiest
      .sort((a, b) => a.slug.localeCompare(b.slug) || a.metric.localeCompare(b.metric))
      .map(({ slug: of, metric: name, n }) => ({
        slug: of,
        metric: name,
        points: n.map((count, i): [number, number] => [first + i * MINUTE_MS, count]),
      })),
  };
}

const isMetric = (name: string): name is RateMetric =>
  (RATE_METRICS as readonly string[]).includes(name);
