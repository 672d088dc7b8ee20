import { Paper, SegmentedControl, SimpleGrid, Text, Title } from "@mantine/core";
import { useDeferredValue } from "react";
import { useGet } from "../../lib/query.ts";
import { durationText } from "../../lib/units.ts";
import { Chart } from "../../parts/chart.tsx";

const COLORS = {
  submitted: "#868e96",
  succeeded: "#12b886",
  failed: "#fa5252",
  expired: "#fd7e14",
} as const;
const SPANS = [
  { value: "60", label: "1 h" },
  { value: "360", label: "6 h" },
  { value: "1440", label: "24 h" },
  { value: "2880", label: "48 h" },
];
const HEIGHT = 180;
/** Runs that latencies are drawn of. */
const RUNS = 500;

/** Tasks per minute by what happened to them, and how long the last runs took. */
export function Charts({
  slug,
  span,
  onSpan,
}: {
  slug: string;
  span: string;
  onSpan: (span: string) => void;
}) {
  const rates = useGet("/api/v1/flow/rates", { query: { slug, since_min: span } });
  // After what else the page asks for: it is ten times as long.
  const settled = useDeferredValue(true, false);
  const runs = useGet(
    "/api/v1/workloads/{slug}/runs",
    { params: { slug }, query: { limit: RUNS, brief: true } },
    { enabled: settled },
  );
  const minutes = Number(span);
  const now = Math.floor(Date.now() / 60_000) * 60_000;
  const points = rates.data?.series[0]?.points ?? [];
  const x =
    points.length > 0
      ? points.map(([ms]) => ms / 1_000)
      : Array.from({ length: minutes }, (_, i) => (now - (minutes - 1 - i) * 60_000) / 1_000);
  const series = Object.entries(COLORS).map(([metric, color]) => ({
    label: metric,
    color,
    values:
      rates.data?.series.find((one) => one.metric === metric)?.points.map(([, n]) => n) ??
      x.map(() => 0),
    fill: metric === "succeeded",
  }));
  const ended = [...(runs.data?.runs ?? [])].reverse();
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md">
      <Paper withBorder p="sm">
        <div className="chart-head">
          <Title order={2} size="h5">
            Tasks per minute
          </Title>
          <SegmentedControl
            size="xs"
            aria-label="Span"
            data={SPANS}
            value={span}
            onChange={onSpan}
          />
        </div>
        <Chart
          label={`Tasks of ${slug} per minute, over the last ${minutes} minutes`}
          x={x}
          series={series}
          height={HEIGHT}
          unit={(n) => `${Math.round(n * 10) / 10} /min`}
        />
      </Paper>
      <Paper withBorder p="sm">
        <div className="chart-head">
          <Title order={2} size="h5">
            How long runs took
          </Title>
          {runs.data && (
            <Text size="xs" c="dimmed">
              the last {ended.length} runs
            </Text>
          )}
        </div>
        {ended.length === 0 ? (
          <Text size="sm" c="dimmed" mih={HEIGHT}>
            {runs.data && "Nothing has run yet."}
          </Text>
        ) : (
          <Chart
            label={`Durations of the last ${ended.length} runs of ${slug}`}
            x={ended.map(({ finished_at }) => Date.parse(finished_at) / 1_000)}
            series={[
              {
                label: "succeeded",
                color: COLORS.succeeded,
                values: ended.map((run) => (run.success ? run.duration_ms : null)),
              },
              {
                label: "failed",
                color: COLORS.failed,
                values: ended.map((run) => (run.success ? null : run.duration_ms)),
              },
            ]}
            height={HEIGHT}
            unit={durationText}
          />
        )}
      </Paper>
    </SimpleGrid>
  );
}
