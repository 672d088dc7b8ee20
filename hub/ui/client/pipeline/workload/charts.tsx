import { Paper, SegmentedControl, SimpleGrid, Text, Title } from "@mantine/core";
import { useDeferredValue, useState } from "react";
import { counted } from "#shared/kit/words.ts";
import type { FlowRates } from "#shared/protocol/schema/flow.ts";
import { useNow } from "../../lib/now.ts";
import { useGet } from "../../lib/query.ts";
import { durationText } from "../../lib/units.ts";
import { distribution, type Value } from "../../parts/chart/model.ts";
import { Chart, type ChartSeries, type Range } from "../../parts/chart.tsx";

const COLORS = {
  submitted: "--c-rest",
  succeeded: "--c-ok",
  failed: "--c-bad",
  expired: "--c-warn",
} as const;
const QUANTILE = "--c-1";
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
  const now = useNow();
  const [zoom, setZoom] = useState<Range | null>(null);
  const minutes = Number(span);
  // To the minute that is going on, so that both charts begin and end at the same time.
  const until = Math.ceil(now / 60_000) * 60;
  const range = zoom ?? { from: until - minutes * 60, until };
  const ended = runs.data?.runs ?? [];
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
            onChange={(next) => {
              setZoom(null);
              onSpan(next);
            }}
          />
        </div>
        <Chart
          label={`Tasks of ${slug} per minute, over the last ${minutes} minutes`}
          {...ratesOf(rates.data)}
          range={range}
          onRange={setZoom}
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
              {ended.length < RUNS ? counted(ended.length, "run") : `the last ${RUNS} runs`}
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
            {...durationsOf(ended, range)}
            range={range}
            onRange={setZoom}
            height={HEIGHT}
            unit={durationText}
            log
          />
        )}
      </Paper>
    </SimpleGrid>
  );
}

/** Counts of each minute: what became of tasks on top of each other, and around them how many came. */
function ratesOf(rates: FlowRates | undefined) {
  const points = rates?.series[0]?.points ?? [];
  return {
    x: points.map(([ms]) => ms / 1_000),
    series: Object.entries(COLORS).map(
      ([metric, color]): ChartSeries => ({
        label: metric,
        color,
        values: rates?.series.find((one) => one.metric === metric)?.points.map(([, n]) => n) ?? [],
        draw: metric === "submitted" ? "outline" : "bars",
      }),
    ),
  };
}

interface Ended {
  success: boolean;
  finished_at: string;
  duration_ms: number;
}

/** Every run as a point, and what half and nearly all of them took at most. */
function durationsOf(runs: readonly Ended[], range: Range) {
  const group = (success: boolean) =>
    runs
      .filter((run) => run.success === success)
      // A scale of powers of ten has no zero.
      .map((run) => ({
        at: Date.parse(run.finished_at) / 1_000,
        value: Math.max(1, run.duration_ms),
      }));
  const { x, points, quantiles } = distribution([group(true), group(false)], range, [0.5, 0.95]);
  const row = (label: string, color: string, values: Value[] | undefined): ChartSeries => ({
    label,
    color,
    values: values ?? [],
  });
  return {
    x,
    series: [
      { ...row("succeeded", COLORS.succeeded, points[0]), draw: "points" as const },
      { ...row("failed", COLORS.failed, points[1]), draw: "triangles" as const },
      row("p50", QUANTILE, quantiles[0]),
      { ...row("p95", QUANTILE, quantiles[1]), dash: true },
    ],
  };
}
