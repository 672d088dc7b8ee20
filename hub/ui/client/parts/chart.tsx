import { useComputedColorScheme } from "@mantine/core";
import { useEffect, useRef } from "react";
import type uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

export interface ChartSeries {
  label: string;
  /** CSS colour. */
  color: string;
  /** One value per x; null leaves a gap. */
  values: (number | null)[];
  fill?: boolean;
}

interface ChartProps {
  /** Says what is drawn, for screen readers. */
  label: string;
  /** Seconds since the epoch. */
  x: number[];
  series: ChartSeries[];
  height?: number;
  /** Of the values on the left axis. */
  unit?: (value: number) => string;
  max?: number;
}

/** Lines over time, drawn on a canvas; pages that use it are loaded when they are opened. */
export function Chart({ label, x, series, height = 200, unit, max }: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | null>(null);
  const dark = useComputedColorScheme("light") === "dark";
  const shape = series.map((one) => `${one.label} ${one.color}`).join();
  const data = [x, ...series.map((one) => one.values)] as uPlot.AlignedData;
  const latest = useRef(data);
  latest.current = data;
  // biome-ignore lint/correctness/useExhaustiveDependencies: made anew for another shape, not for other values
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    let done = false;
    let remove = () => {};
    const draw = (Plot: typeof uPlot) => {
      if (done) return;
      const ink = dark ? "#c1c2c5" : "#495057";
      const line = dark ? "#373a40" : "#e9ecef";
      const axis = {
        stroke: ink,
        grid: { stroke: line, width: 1 },
        ticks: { stroke: line, width: 1 },
      };
      const made = new Plot(
        {
          width: element.clientWidth,
          height,
          cursor: { points: { size: 6 } },
          scales: { y: { range: (_, _low, high) => [0, Math.max(max ?? 0, high * 1.1, 1)] } },
          axes: [
            axis,
            { ...axis, size: 64, ...(unit && { values: (_, ticks) => ticks.map(unit) }) },
          ],
          series: [
            {},
            ...series.map((one) => ({
              label: one.label,
              stroke: one.color,
              width: 1.5,
              points: { show: x.length < 3 },
              ...(one.fill && { fill: `${one.color}22` }),
              value: (_: uPlot, value: number | null) =>
                value === null ? "–" : unit ? unit(value) : String(value),
            })),
          ],
        },
        latest.current,
        element,
      );
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
    // After what else the page shows: to compile it takes longer than to draw.
    void import("uplot").then(({ default: Plot }) => draw(Plot));
    return () => {
      done = true;
      remove();
    };
  }, [shape, dark, height, max]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the values
  useEffect(() => {
    chart.current?.setData(latest.current);
  }, [x, series]);
  return <div ref={box} role="img" aria-label={label} className="chart" />;
}
