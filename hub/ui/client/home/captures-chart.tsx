import { useCallback, useMemo, useState } from "react";
import { Link, useLocation } from "wouter";
import type { CaptureCounts, Figures } from "#shared/protocol/schema/figures.ts";
import { clockText, countText, dayText } from "../lib/units.ts";
import { Chart, type Range } from "../parts/chart.tsx";
import { Card } from "./card.tsx";
import { capturesHref } from "./links.ts";
import { bucketText } from "./ranges.ts";

const HEIGHT = 186;

type Result = Exclude<keyof CaptureCounts, "open">;

/** In the order in which they stand on each other. */
const RESULTS: { result: Result; word: string; color: string }[] = [
  { result: "completed", word: "completed", color: "--c-ok" },
  { result: "http_error", word: "with an HTTP error", color: "--c-warn" },
  { result: "failed", word: "failed", color: "--c-bad" },
  { result: "cancelled", word: "cancelled", color: "--c-rest" },
];
const ALWAYS: readonly Result[] = ["completed", "http_error", "failed"];

const timeOf = (at: string): string => {
  const date = new Date(at);
  return `${dayText(date)}, ${clockText(date)}`;
};

/** What the mouse or the arrow keys have chosen, in words. */
const wordsOf = (bucket: Figures["captures"]["buckets"][number]): string =>
  `${timeOf(bucket.from)}: ${RESULTS.map(({ result, word }) => `${bucket[result]} ${word}`).join(", ")}`;

/** What became of the captures, and how many of each; a click lists those of a bar. */
export function CapturesChart({ figures }: { figures: Figures }) {
  const { captures, bucket_s, from } = figures;
  const { buckets, total } = captures;
  const [, navigate] = useLocation();
  const [at, setAt] = useState<number | null>(null);
  const chosen = at === null ? undefined : buckets[at];
  const counts: CaptureCounts = chosen ?? total;
  const shown = RESULTS.filter(({ result }) => ALWAYS.includes(result) || total[result] > 0);
  const span = (index: number): { since: string; until: string } => {
    const begins = Date.parse(buckets[index]?.from ?? from);
    const ends = new Date(begins + bucket_s * 1_000 - 1);
    return { since: new Date(begins).toISOString(), until: ends.toISOString() };
  };
  const open = (index: number, result?: string) =>
    navigate(capturesHref({ ...span(index), result }));
  const step = useCallback(
    (by: number) =>
      setAt((before) => {
        const next = before === null ? buckets.length - 1 : before + by;
        return Math.min(buckets.length - 1, Math.max(0, next));
      }),
    [buckets.length],
  );
  const drawn = useMemo(() => {
    const first = Date.parse(from) / 1_000;
    const range: Range = { from: first, until: first + buckets.length * bucket_s };
    return {
      range,
      x: buckets.map((one) => Date.parse(one.from) / 1_000 + bucket_s / 2),
      series: RESULTS.map(({ result, color }) => ({
        label: result,
        color,
        draw: "bars" as const,
        values: buckets.map((one) => one[result]),
      })),
    };
  }, [buckets, bucket_s, from]);
  return (
    <Card
      className="home-captures-card"
      title={`Captures per ${bucketText(bucket_s)}`}
      aside={
        <ul className="home-legend">
          {chosen && <li className="home-note">{timeOf(chosen.from)}</li>}
          {shown.map(({ result, word, color }) => (
            <li key={result}>
              <Link
                href={capturesHref({
                  result,
                  ...(at === null ? { since: from } : span(at)),
                })}
              >
                <i style={{ background: `var(${color})` }} aria-hidden />
                {countText(counts[result])} {word}
              </Link>
            </li>
          ))}
        </ul>
      }
    >
      <div
        className="home-chart"
        role="slider"
        tabIndex={0}
        aria-label={`Captures per ${bucketText(bucket_s)}: arrow keys choose a bar, Enter lists its captures`}
        aria-valuemin={0}
        aria-valuemax={buckets.length - 1}
        aria-valuenow={at ?? buckets.length - 1}
        aria-valuetext={chosen ? wordsOf(chosen) : "all of the range"}
        onKeyDown={({ key }) => {
          if (key === "ArrowLeft") step(-1);
          else if (key === "ArrowRight") step(1);
          else if (key === "Escape") setAt(null);
          else if (key === "Enter" && at !== null) open(at);
        }}
        onBlur={() => setAt(null)}
      >
        <Chart
          label={`Captures per ${bucketText(bucket_s)} by result`}
          {...drawn}
          height={HEIGHT}
          unit={(n) => (Number.isInteger(n) ? countText(n) : "")}
          running
          legend={false}
          max={4}
          onHover={setAt}
          onPick={(index, result) => open(index, result ?? undefined)}
          onRange={(marked) =>
            marked &&
            navigate(
              capturesHref({
                since: new Date(marked.from * 1_000).toISOString(),
                until: new Date(marked.until * 1_000).toISOString(),
              }),
            )
          }
        />
      </div>
    </Card>
  );
}
