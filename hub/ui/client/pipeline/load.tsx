import { Group, SegmentedControl, Stack, Text, Title } from "@mantine/core";
import { useState } from "react";
import type { GpuMetrics, WorkersCpu } from "#shared/protocol/schema/flow.ts";
import { useFilters } from "../lib/filters.ts";
import { useNowText } from "../lib/now.ts";
import { useGet } from "../lib/query.ts";
import { wholePercentText } from "../lib/units.ts";
import { Chart, type Range } from "../parts/chart.tsx";
import { Empty, Loadable } from "../parts/states.tsx";
import { colorOf } from "./load-charts/colors.ts";
import { GpuCharts } from "./load-charts/gpu-charts.tsx";
import { Heatmap, type HostLoad } from "./load-charts/heatmap.tsx";
import { minutesOf, valuesAt } from "./load-charts/minutes.ts";

/** As often as workers report. */
const EVERY_MS = 5_000;
/** As many as there are colours: more lines cannot be told apart, so only the busiest are drawn. */
const MOST_LINES = 6;
const RANGES = [
  { value: "60", label: "1 hour" },
  { value: "360", label: "6 hours" },
  { value: "1440", label: "1 day" },
  { value: "2880", label: "2 days" },
];

interface Time {
  /** Every minute that is asked for. */
  x: number[];
  range: Range;
  onRange: (range: Range | null) => void;
}

interface CpuSectionProps {
  cpu: WorkersCpu;
  history: GpuMetrics["cpu"];
  time: Time;
}

function CpuSection({ cpu, history, time }: CpuSectionProps) {
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
        The first reading of each minute
        {cpu.hosts.length > MOST_LINES && `; the ${MOST_LINES} busiest of ${cpu.hosts.length}`}. The
        darker a host above, the busier it is.
      </Text>
      <Chart
        label="CPU of the hosts"
        {...time}
        series={drawn.map((host, i) => ({
          label: host,
          color: colorOf(i),
          values: valuesAt(
            time.x,
            history.find((one) => one.host === host)?.points ?? [],
            ({ cpu_percent }) => cpu_percent,
          ),
        }))}
        unit={wholePercentText}
        max={100}
      />
    </Stack>
  );
}

function GpuSection({ metrics, time }: { metrics: GpuMetrics; time: Time }) {
  const hosts = [...new Set(metrics.series.map(({ host }) => host))].sort();
  if (hosts.length === 0)
    return (
      <Empty title="No GPU was reported in this period" command="nvidia-smi --list-gpus">
        Workers and agents report their host's GPUs by themselves where they find nvidia-smi. On a
        host with a GPU, check that it works:
      </Empty>
    );
  return hosts.map((host) => (
    <GpuCharts
      key={host}
      host={host}
      series={metrics.series.filter((one) => one.host === host)}
      {...time}
    />
  ));
}

/** The end of the running minute, in seconds since the epoch: drawn again when that changes. */
const useMinute = (): number => Number(useNowText((now) => String(Math.ceil(now / 60_000) * 60)));

/** What the hosts of pipeline workers have to do. */
export function Load() {
  const [filters, set] = useFilters({ minutes: "60" });
  const minutes = RANGES.some(({ value }) => value === filters.minutes) ? filters.minutes : "60";
  const cpu = useGet("/api/v1/workers/cpu", {}, { refetchInterval: EVERY_MS });
  const metrics = useGet("/api/v1/workers/metrics", { query: { minutes } });
  const [zoom, setZoom] = useState<Range | null>(null);
  // All charts begin and end at the same minute, and a part that is marked in one is shown in all of them.
  const until = useMinute();
  const asked = { from: until - Number(minutes) * 60, until };
  const time: Time = { x: minutesOf(asked), range: zoom ?? asked, onRange: setZoom };
  const most = cpu.data?.cluster_max;
  return (
    <>
      <Group justify="space-between" mb="sm">
        <Text size="sm" c="dimmed">
          {typeof most === "number" &&
            `The busiest host uses ${wholePercentText(most)} of its CPUs.`}
        </Text>
        <SegmentedControl
          size="xs"
          aria-label="Range of time"
          data={RANGES}
          value={minutes}
          onChange={(value) => {
            setZoom(null);
            set({ minutes: value });
          }}
        />
      </Group>
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
              <CpuSection cpu={data} history={metrics.data?.cpu ?? []} time={time} />
            )
          }
        </Loadable>
        <Stack gap="sm">
          <Title order={2} size="h4">
            GPUs
          </Title>
          <Loadable query={metrics}>{(data) => <GpuSection metrics={data} time={time} />}</Loadable>
        </Stack>
      </Stack>
    </>
  );
}
