import { isoTime } from "#shared/kit/clock.ts";
import type { GpuMetrics, WorkersCpu } from "#shared/protocol/schema/flow.ts";
import type { GpuReading } from "#shared/protocol/schema/pull.ts";
import type { PipelineContext } from "../context.ts";
import { isLive } from "../pull/is-live.ts";
import { MINUTE_MS, minuteOf } from "./flow-rates.ts";

const HOUR_MS = 60 * MINUTE_MS;

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
  wall_jumps,
}: Pick<PipelineContext, "db" | "wall_jumps">): Promise<WorkersCpu> {
  const rows = (await db.pull_workers.list()).map((row) => {
    const live = isLive(wall_jumps, row);
    return live ? row : { ...row, cpu_percent: null, host_cpu_percent: null };
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

/** Minutes that this process has stored, by host: a heartbeat comes every few seconds. */
const stored = new WeakMap<PipelineContext["db"], Map<string, number>>();

/** Stores how busy a host is, once a minute. */
export async function recordCpu(
  { db, clock }: Pick<PipelineContext, "clock" | "db">,
  host: string,
  cpu_percent: number,
): Promise<void> {
  const minutes = stored.get(db) ?? new Map<string, number>();
  stored.set(db, minutes);
  const minute = minuteOf(clock.now());
  if (minutes.get(host) === minute) return;
  minutes.set(host, minute);
  for (const [known, at] of minutes) if (at < minute - HOUR_MS) minutes.delete(known);
  await db.cpu_minutes.put({ minute, host, cpu_percent });
}

async function cpuSeries(db: PipelineContext["db"], since: number): Promise<GpuMetrics["cpu"]> {
  const series = new Map<string, GpuMetrics["cpu"][number]>();
  for (const { minute, host, cpu_percent } of await db.cpu_minutes.list(since)) {
    const known = series.get(host) ?? { host, points: [] };
    known.points.push({ ts: isoTime(minute), cpu_percent });
    series.set(host, known);
  }
  return [...series.values()];
}

/** GET /workers/metrics: a series for each host and each GPU that was reported in the last `minutes` minutes. */
export async function getGpuMetrics(
  { db, clock }: Pick<PipelineContext, "db" | "clock">,
  minutes: number,
): Promise<GpuMetrics> {
  const since = minuteOf(clock.now()) - (minutes - 1) * MINUTE_MS;
  const [rows, cpu] = await Promise.all([db.gpus.list(since), cpuSeries(db, since)]);
  const series = new Map<string, GpuMetrics["series"][number]>();
  for (const { minute, host, gpu, name, ...reading } of rows) {
    const key = `${host} ${gpu}`;
    const known = series.get(key) ?? { host, gpu, name, points: [] };
    // Where a card was replaced, the newest card's name is shown.
    known.name = name;
    known.points.push({ ts: isoTime(minute), ...reading });
    series.set(key, known);
  }
  return { minutes, cpu, series: [...series.values()] };
}
