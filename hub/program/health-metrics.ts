import type { Metrics } from "#hub/platform/metrics/metrics.ts";
import { Degraded } from "#shared/protocol/schema/health.ts";
import type { ProgramContext } from "./context.ts";

const PARTS = Degraded.shape.part.options;

/** What `/health` finds out, for those who are to be called when something breaks (rules/metrics#of-every-process). */
export function addHealthMetrics({
  metrics,
  stores_health,
  disk_room,
}: Pick<ProgramContext, "stores_health" | "disk_room"> & { metrics: Metrics }): void {
  const degraded = metrics.gauge(
    "flotilla_degraded",
    "1 while this part does not work as it should; /health says why",
    ["part"],
  );
  metrics.reading("health", [degraded], async () => {
    const found = new Set((await stores_health.degraded()).map(({ part }) => part));
    if (disk_room.shortage !== null) found.add("disk");
    for (const part of PARTS) degraded.set({ part }, found.has(part) ? 1 : 0);
  });
  const free = metrics.gauge(
    "flotilla_disk_free_bytes",
    "Free bytes of the disk, of those that are written to, that has least beside its reserve",
  );
  const reserve = metrics.gauge(
    "flotilla_disk_reserve_bytes",
    "Free bytes of that disk below which no new work is taken",
  );
  metrics.reading("disk", [free, reserve], () => {
    const { disk } = disk_room;
    // None is watched, or none has answered yet.
    if (disk === null) {
      for (const gauge of [free, reserve]) gauge.remove();
      return;
    }
    free.set(disk.free_bytes);
    reserve.set(disk.reserve_bytes);
  });
}
