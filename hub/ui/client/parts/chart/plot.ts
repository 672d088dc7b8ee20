import type uPlot from "uplot";
import { clockText, dayText, digits } from "../../lib/units.ts";
import type { Drawn, Range } from "./model.ts";

export interface PlotShape {
  width: number;
  height: number;
  series: readonly Drawn[];
  /** The latest values, by their place in `series`. */
  valueAt(series: number, index: number): number | null | undefined;
  range(): Range | undefined;
  unit?: (value: number) => string;
  max?: number;
  /** Powers of ten at equal distances: for durations. */
  log: boolean;
  /** A part of the time was marked with the pointer. */
  onMark(range: Range): void;
}

/** A canvas knows no variables of the styles: `--c-ok`, as it is in the colours of now. */
const inkOf = (color: string): string =>
  color.startsWith("--")
    ? getComputedStyle(document.documentElement).getPropertyValue(color).trim()
    : color;

/** Of the labels on axes. */
export const FONT = '11px "Inter Variable", Inter, system-ui, sans-serif';
const DAY_S = 86_400;

/** Times of the axis, of this browser's time zone; the day where one begins. */
const timesOf = (_: uPlot, ticks: number[], _axis: number, _space: number, step: number) =>
  ticks.map((s) => {
    const at = new Date(s * 1_000);
    if (step >= DAY_S || (at.getHours() === 0 && at.getMinutes() === 0)) return dayText(at);
    return step < 60 ? `${clockText(at)}:${digits(2, at.getSeconds())}` : clockText(at);
  });

/** As wide as its longest number, so that none is cut off. */
const widthOf: uPlot.Axis.Size = (plot, ticks, index, cycle) => {
  const axis = plot.axes[index] as uPlot.Axis & { _size: number; font: [string] };
  if (cycle > 1) return axis._size;
  const longest = (ticks ?? []).reduce((a, b) => (b.length > a.length ? b : a), "");
  plot.ctx.font = axis.font[0];
  const text = plot.ctx.measureText(longest).width / devicePixelRatio;
  return Math.ceil((axis.ticks?.size ?? 0) + (axis.gap ?? 0) + text + 2);
};

function seriesOf(
  Plot: typeof uPlot,
  { series, unit, valueAt }: PlotShape,
  one: Drawn,
): uPlot.Series {
  const index = series.indexOf(one);
  const { label, draw = "line", dash } = one;
  const color = inkOf(one.color);
  const said = (value: number | null | undefined) =>
    value === null || value === undefined ? "–" : unit ? unit(value) : String(value);
  const common: uPlot.Series = {
    label,
    stroke: color,
    width: 1.5,
    points: { show: false },
    value: (_, _height, _series, at) => (at === null ? "–" : said(valueAt(index, at))),
  };
  if (dash) common.dash = [6, 4];
  if (draw === "points")
    return { ...common, paths: () => null, points: { show: true, size: 5, fill: color } };
  // Of a line with so few values nothing would be seen.
  const few = one.values.filter((value) => typeof value === "number").length < 3;
  if (draw === "line") return { ...common, points: { show: few } };
  const paths = Plot.paths.bars?.({ size: [0.9, 40] }) ?? (() => null);
  return { ...common, paths, fill: draw === "bars" ? color : "transparent", width: 1 };
}

/** What the library needs to draw it. */
export function plotOptions(Plot: typeof uPlot, shape: PlotShape): uPlot.Options {
  const { width, height, series, unit, max, log, range, onMark } = shape;
  const ink = inkOf("--c-axis");
  const line = inkOf("--c-grid");
  const axis = {
    stroke: ink,
    font: FONT,
    grid: { stroke: line, width: 1 },
    ticks: { stroke: line, width: 1 },
  };
  const heights: uPlot.Scale = log
    ? { distr: 3, range: (_, low, high) => [Math.max(1, low * 0.8), Math.max(10, high * 1.2)] }
    : { range: (_, _low, high) => [0, Math.max(max ?? 0, high * 1.1, 1)] };
  const values = unit && { values: (_: uPlot, ticks: number[]) => ticks.map((n) => tickOf(n)) };
  // On a scale of powers of ten the library has ticks without a number.
  const tickOf = (n: number | null) => (n === null || unit === undefined ? "" : unit(n));
  return {
    width,
    height,
    cursor: { points: { size: 6 }, drag: { x: true, y: false, setScale: false } },
    scales: {
      x: {
        range: (_, low, high) => {
          const given = range();
          return given ? [given.from, given.until] : [low, high];
        },
      },
      y: heights,
    },
    axes: [
      { ...axis, values: timesOf },
      { ...axis, size: widthOf, ...values },
    ],
    series: [
      { value: (_, s) => (s === null ? "–" : timesOf(_, [s], 0, 0, 60).join()) },
      ...series.map((one) => seriesOf(Plot, shape, one)),
    ],
    hooks: {
      setSelect: [
        (plot) => {
          const { left, width: marked } = plot.select;
          if (marked < 4) return;
          const [from, until] = [plot.posToVal(left, "x"), plot.posToVal(left + marked, "x")];
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          onMark({ from, until });
        },
      ],
    },
  };
}
