import { SimpleGrid, Stack, Text, Title } from "@mantine/core";
import type { GpuMetrics } from "#shared/protocol/schema/flow.ts";
import { bytesText, wholePercentText } from "../../lib/units.ts";
import { Chart, type ChartSeries, type Range } from "../../parts/chart.tsx";
import { colorOf } from "./colors.ts";
import { valuesAt } from "./minutes.ts";

const MB = 1_000_000;
type Series = GpuMetrics["series"][number];
type Point = Series["points"][number];

interface GpuChartsProps {
  host: string;
  series: readonly Series[];
  /** Every minute that is asked for. */
  x: number[];
  range: Range;
  onRange: (range: Range | null) => void;
}

/** Use and memory of the GPUs of one host, a line for each. */
export function GpuCharts({ host, series, x, range, onRange }: GpuChartsProps) {
  const lines = (value: (point: Point) => number | null): ChartSeries[] =>
    series.map(({ gpu, name, points }, i) => ({
      label: `GPU ${gpu} ${name}`,
      color: colorOf(i),
      values: valuesAt(x, points, value),
    }));
  const time = { x, range, onRange };
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
            {...time}
            series={lines(({ util_percent }) => util_percent)}
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
            {...time}
            series={lines(({ mem_used_mb }) => (mem_used_mb === null ? null : mem_used_mb * MB))}
            unit={bytesText}
            max={total}
          />
        </div>
      </SimpleGrid>
    </Stack>
  );
}
