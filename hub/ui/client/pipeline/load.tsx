import { Group, SegmentedControl, Stack, Text, Title } from "@mantine/core";
import type { GpuMetrics, WorkersCpu } from "#shared/protocol/schema/flow.ts";
import { useFilters } from "../lib/filters.ts";
import { useGet } from "../lib/query.ts";
import { wholePercentText } from "../lib/units.ts";
import { Chart } from "../parts/chart.tsx";
import { Empty, Loadable } from "../parts/states.tsx";
import { colorOf } from "./load-charts/colors.ts";
import { useCpuHistory } from "./load-charts/cpu-history.ts";
import { GpuCharts } from "./load-charts/gpu-charts.tsx";
import { Heatmap, type HostLoad } from "./load-charts/heatmap.tsx";

/** As often as workers report. */
const EVERY_MS = 5_000;
/** More lines cannot be distinguished, so only the busiest are drawn. */
const MOST_LINES = 10;
const RANGES = [
  { value: "60", label: "1 hour" },
  { value: "360", label: "6 hours" },
  { value: "1440", label: "1 day" },
  { value: "2880", label: "2 days" },
];

function CpuSection({ cpu, updated_at }: { cpu: WorkersCpu; updated_at: number }) {
  const history = useCpuHistory(cpu, updated_at);
  const workers = useGet("/api/v1/workers");
  const loads = cpu.hosts.map(({ host, cpu_percent }): HostLoad => {
    const here = (workers.data?.workers ?? []).filter((one) => one.host === host);
    const gpus = here.flatMap(({ gpus: told, state }) =>
      state === "offline" ? [] : told.flatMap(({ util_percent }) => util_percent ?? []),
    );
    return {
      host,
      cpu_percent,
      workers: cpu.workers.filter((one) => one.host === host).length,
      gpu_percent: gpus.length === 0 ? null : Math.max(...gpus),
    };
  });
  const drawn = [...cpu.hosts]
    .sort((a, b) => (b.cpu_percent ?? -1) - (a.cpu_percent ?? -1))
    .slice(0, MOST_LINES)
    .map(({ host }) => host)
    .sort();
  return (
    <Stack gap="sm">
      <Title order={2} size="h4">
        CPU
      </Title>
      <Heatmap hosts={loads} />
      <Text size="sm" c="dimmed">
        Hosts since this page was opened, at most two hours
        {cpu.hosts.length > MOST_LINES && `; the ${MOST_LINES} busiest of ${cpu.hosts.length}`}. The
        darker a host above, the busier it is.
      </Text>
      <Chart
        label="CPU of the hosts"
        x={history.map(({ at }) => at)}
        series={drawn.map((host, i) => ({
          label: host,
          color: colorOf(i),
          values: history.map(({ hosts }) => hosts[host] ?? null),
        }))}
        unit={wholePercentText}
        max={100}
      />
    </Stack>
  );
}

function GpuSection({ metrics }: { metrics: GpuMetrics }) {
  const hosts = [...new Set(metrics.series.map(({ host }) => host))].sort();
  if (hosts.length === 0)
    return (
      <Empty title="No GPU was reported in this period" command="nvidia-smi --list-gpus">
        Workers and agents report their host's GPUs by themselves where they find nvidia-smi. On a
        host with a GPU, check that it works:
      </Empty>
    );
  return hosts.map((host) => (
    <GpuCharts key={host} host={host} series={metrics.series.filter((one) => one.host === host)} />
  ));
}

/** What the hosts of pipeline workers have to do. */
export function Load() {
  const [filters, set] = useFilters({ minutes: "60" });
  const minutes = RANGES.some(({ value }) => value === filters.minutes) ? filters.minutes : "60";
  const cpu = useGet("/api/v1/workers/cpu", {}, { refetchInterval: EVERY_MS });
  const gpus = useGet("/api/v1/workers/metrics", { query: { minutes } });
  const most = cpu.data?.cluster_max;
  return (
    <>
      {typeof most === "number" && (
        <Text size="sm" c="dimmed" mb="sm">
          The busiest host uses {wholePercentText(most)} of its CPUs.
        </Text>
      )}
      <Stack gap="xl">
        <Loadable query={cpu}>
          {(data) =>
            data.hosts.length === 0 ? (
              <Empty
                title="No pipeline worker reports its load"
                command={`flotilla worker --control-url=${location.origin}`}
              >
                Every worker reports it with its heartbeat. Start one:
              </Empty>
            ) : (
              <CpuSection cpu={data} updated_at={cpu.dataUpdatedAt} />
            )
          }
        </Loadable>
        <Stack gap="sm">
          <Group justify="space-between">
            <Title order={2} size="h4">
              GPUs
            </Title>
            <SegmentedControl
              size="xs"
              aria-label="Range of time"
              data={RANGES}
              value={minutes}
              onChange={(value) => set({ minutes: value })}
            />
          </Group>
          <Loadable query={gpus}>{(data) => <GpuSection metrics={data} />}</Loadable>
        </Stack>
      </Stack>
    </>
  );
}
