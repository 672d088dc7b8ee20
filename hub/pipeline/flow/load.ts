import { isoTime } from "#shared/kit/clock.ts";
import type { GpuMetrics, WorkersCpu } from "#shared/protocol/schema/flow.ts";
import { type GpuReading, PULL_OFFLINE_MS } from "#shared/protocol/schema/pull.ts";
import type { PipelineContext } from "../context.ts";
import { MINUTE_MS, minuteOf } from "./flow-rates.ts";

const highest = (values: (number | null)[]): number | null => {
  const told = values.filter((value) => value !== null);
  return told.length === 0 ? null : Math.max(...told);
};

/**
 * GET /workers/cpu (rules/pipeline-views#cpu-use): the share of all CPUs of its host, in percent, that a worker and its
 * children use, and that the whole host uses; null for those that have not reported recently.
 */
export async function getWorkersCpu({
  db,
  clock,
}: Pick<PipelineContext, "db" | "clock">): Promise<WorkersCpu> {
  const rows = (await db.pull_workers.list()).map((row) => {
    const silent = clock.now() - row.last_heartbeat_at > PULL_OFFLINE_MS;
    return silent ? { ...row, cpu_percent: null, host_cpu_percent: null } : row;
  });
  const names = [...new Set(rows.map(({ host }) => host))].sort();
  const hosts = names.map((host) => ({
    host,
    cpu_percent: highest(
      rows.filter((row) => row.host === host).map((row) => row.host_cpu_percent),
    ),
  }));
  return {
    workers: rows.map(({ worker_id, host, cpu_percent }) => ({ id: worker_id, host, cpu_percent })),
    hosts,
    cluster_max: highest(hosts.map(({ cpu_percent }) => cpu_percent)),
  };
}

/** Stores a host's GPU readings: the last one of each minute. */
export async function recordGpus(
  { db, clock }: Pick<PipelineContext, "clock"> & { db: Pick<PipelineContext["db"], "gpus"> },
  host: string,
  gpus: readonly GpuReading[],
): Promise<void> {
  const minute = minuteOf(clock.now());
  const byIndex = new Map(gpus.map((reading) => [reading.index, reading]));
  await db.gpus.put(
    [...byIndex.values()].map(({ index, ...reading }) => ({
      minute,
      host,
      gpu: index,
      ...reading,
    })),
  );
}

/** GET /workers/metrics: a series for each GPU that was reported in the last `minutes` minutes. */
export async function getGpuMetrics(
  { db, clock }: Pick<PipelineContext, "db" | "clock">,
  minutes: number,
): Promise<GpuMetrics> {
  const rows = await db.gpus.list(minuteOf(clock.now()) - (minutes - 1) * MINUTE_MS);
  const series = new Map<string, GpuMetrics["series"][number]>();
  for (const { minute, host, gpu, name, ...reading } of rows) {
    const key = `${host} ${gpu}`;
    const known = series.get(key) ?? { host, gpu, name, points: [] };
    // Where a card was replaced, the newest card's name is shown.
    known.name = name;
    known.points.push({ ts: isoTime(minute), ...reading });
    series.set(key, known);
  }
  return { minutes, series: [...series.values()] };
}
