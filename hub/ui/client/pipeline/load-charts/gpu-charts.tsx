import { SimpleGrid, Stack, Text, Title } from "@mantine/core";
import type { GpuMetrics } from "#shared/protocol/schema/flow.ts";
import { bytesText, wholePercentText } from "../../lib/units.ts";
import { Chart, type ChartSeries } from "../../parts/chart.tsx";
import { colorOf } from "./colors.ts";
import { EMPTY_S } from "./cpu-history.ts";

const MB = 1_000_000;
type Series = GpuMetrics["series"][number];
type Point = Series["points"][number];

/** One x for every minute that any of them reported. */
function align(series: readonly Series[], value: (point: Point) => number | null) {
  const minutes = new Set(series.flatMap(({ points }) => points.map(({ ts }) => Date.parse(ts))));
  const [first] = minutes;
  if (minutes.size === 1 && first !== undefined) minutes.add(first - EMPTY_S * 1_000);
  const x = [...minutes].sort((a, b) => a - b);
  const values = series.map(({ points }) => {
    const at = new Map(points.map((point) => [Date.parse(point.ts), value(point)]));
    return x.map((minute) => at.get(minute) ?? null);
  });
  return { x: x.map((ms) => ms / 1_000), values };
}

/** Use and memory of the GPUs of one host, a line for each. */
export function GpuCharts({ host, series }: { host: string; series: readonly Series[] }) {
  const lines = (values: (number | null)[][]): ChartSeries[] =>
    series.map(({ gpu, name }, i) => ({
      label: `GPU ${gpu} ${name}`,
      color: colorOf(i),
      values: values[i] ?? [],
    }));
  const used = align(series, ({ util_percent }) => util_percent);
  const memory = align(series, ({ mem_used_mb }) =>
    mem_used_mb === null ? null : mem_used_mb * MB,
  );
  const total = Math.max(
    0,
    ...series.flatMap(({ points }) => points.map(({ mem_total_mb }) => (mem_total_mb ?? 0) * MB)),
  );
  return (
    <Stack gap="xs">
      <Title order={3} size="h5" className="wrap">
        {host}
      </Title>
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <div>
          <Text size="sm" c="dimmed">
            In use
          </Text>
          <Chart
            label={`Use of the GPUs of ${host}`}
            x={used.x}
            series={lines(used.values)}
            unit={wholePercentText}
            max={100}
          />
        </div>
        <div>
          <Text size="sm" c="dimmed">
            Memory
          </Text>
          <Chart
            label={`Memory of the GPUs of ${host}`}
            x={memory.x}
            series={lines(memory.values)}
            unit={bytesText}
            max={total}
          />
        </div>
      </SimpleGrid>
    </Stack>
  );
}
