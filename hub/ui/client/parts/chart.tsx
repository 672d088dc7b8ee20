import { useComputedColorScheme } from "@mantine/core";
import { useEffect, useRef } from "react";
import type uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { lateFile, useLateFile } from "../lib/late-file.ts";
import { barAt, type ChartSeries, type Range, stacked } from "./chart/model.ts";
import { FONT, plotOptions } from "./chart/plot.ts";
import { LateNote } from "./late-part.tsx";

export type { ChartSeries, Range };

// After what else the page shows: to compile it takes longer than to draw.
const PLOT = lateFile(async () => (await import("uplot")).default);

interface ChartProps {
  /** Says what is drawn, for screen readers. */
  label: string;
  /** Seconds since the epoch. */
  x: number[];
  series: readonly ChartSeries[];
  /** What of the time is shown; from the first to the last x where it is left out. */
  range?: Range;
  /** A part was marked with the pointer, or a double click asks for all of it again. */
  onRange?: (range: Range | null) => void;
  height?: number;
  /** Of the values on the left axis. */
  unit?: (value: number) => string;
  max?: number;
  log?: boolean;
  /** The last bars are of a time that is not over, and pale. */
  running?: boolean;
  /** Below it, with the values under the pointer. Default true. */
  legend?: boolean;
  /** The place of the value under the pointer, or null. */
  onHover?: (index: number | null) => void;
  /** A value was clicked: its place, and of bars the series that was met. */
  onPick?: (index: number, series: string | null) => void;
}

/** Values over time, drawn on a canvas; pages that use it are loaded when they are opened. */
export function Chart(props: ChartProps) {
  const { label, x, series, range, onRange, height = 200, unit, max, log = false } = props;
  const { running = false, legend = true, onHover, onPick } = props;
  const plot = useLateFile(PLOT);
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | null>(null);
  const dark = useComputedColorScheme("light") === "dark";
  const drawn = stacked(series);
  const shape = drawn.map(({ label: name, color, draw }) => `${name} ${color} ${draw}`).join();
  const data = [x, ...drawn.map(({ heights }) => heights)] as uPlot.AlignedData;
  const latest = useRef({ data, drawn, range, onRange, onHover, onPick });
  latest.current = { data, drawn, range, onRange, onHover, onPick };
  // biome-ignore lint/correctness/useExhaustiveDependencies: made anew for another shape, not for other values
  useEffect(() => {
    const element = box.current;
    if (!element || plot.state !== "there") return;
    let done = false;
    let remove = () => {};
    const draw = (Plot: typeof uPlot) => {
      if (done) return;
      const options = plotOptions(Plot, {
        width: element.clientWidth,
        height,
        series: drawn,
        valueAt: (one, at) => latest.current.drawn[one]?.values[at],
        range: () => latest.current.range,
        unit,
        max,
        log,
        running,
        legend,
        onHover: (index) => latest.current.onHover?.(index),
        onMark: (marked) => latest.current.onRange?.(marked),
      });
      const made = new Plot(options, latest.current.data, element);
      made.over.addEventListener("dblclick", () => latest.current.onRange?.(null));
      made.over.addEventListener("click", () => {
        const { idx, top = 0 } = made.cursor;
        if (typeof idx !== "number") return;
        const series = barAt(latest.current.drawn, idx, made.posToVal(top, "y"));
        latest.current.onPick?.(idx, series);
      });
      chart.current = made;
      const resized = new ResizeObserver(() =>
        made.setSize({ width: element.clientWidth, height }),
      );
      resized.observe(element);
      remove = () => {
        resized.disconnect();
        chart.current = null;
        made.destroy();
      };
    };
    // Its labels are measured, so their typeface has to be there.
    const font = document.fonts.load(FONT).catch(() => []);
    void font.then(() => draw(plot.value));
    return () => {
      done = true;
      remove();
    };
  }, [plot.state, shape, dark, height, max, log, running, legend]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the values
  useEffect(() => {
    chart.current?.setData(latest.current.data);
  }, [x, series, range?.from, range?.until]);
  if (plot.state === "away" || plot.state === "missing") return <LateNote state={plot.state} />;
  return <div ref={box} role="img" aria-label={label} className="chart" />;
}
