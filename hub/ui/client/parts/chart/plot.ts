import type uPlot from "uplot";
import { clockText, dayText, digits } from "../../lib/units.ts";
import { mixed } from "./mix.ts";
import { type Drawn, lonely, type Range } from "./model.ts";

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
  /** The last bar is still growing, and pale. */
  running: boolean;
  /** Below it, with the values under the pointer; a page may have a legend of its own. */
  legend: boolean;
  /** Where the pointer is: the place of a value, null elsewhere. */
  onHover(index: number | null): void;
  /** A part of the time was marked with the pointer. */
  onMark(range: Range): void;
}

/** A canvas cannot use CSS variables, so this resolves `--c-ok` in the current colour scheme. */
const inkOf = (color: string): string =>
  color.startsWith("--")
    ? getComputedStyle(document.documentElement).getPropertyValue(color).trim()
    : color;

/** Of the labels on axes. */
export const FONT = '11px "Inter Variable", Inter, system-ui, sans-serif';
const DAY_S = 86_400;
/** One line of times below the chart, with its ticks. */
const TIMES_PX = 32;
/** How much of its colour a bar that is still growing has. */
const PALE = 0.5;
/** By which the library knows that the values are colours. */
const COLORS_UNIT = 3;

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

/** Told apart from points by their form, not by their colour alone. */
const triangles: uPlot.Series.Points.PathBuilder = (plot, at, first, last) => {
  const series = plot.series[at];
  const [x, y] = [plot.data[0], plot.data[at] ?? []];
  const half = ((series?.points?.size ?? 8) * devicePixelRatio) / 2;
  const path = new Path2D();
  for (let i = first; i <= last; i += 1) {
    const value = y[i];
    if (value === null || value === undefined) continue;
    const left = plot.valToPos(x[i] ?? 0, "x", true);
    const top = plot.valToPos(value, series?.scale ?? "y", true);
    path.moveTo(left, top - half);
    path.lineTo(left + half, top + half);
    path.lineTo(left - half, top + half);
    path.closePath();
  }
  return { stroke: path, fill: path };
};

/** A bar that is still growing is half as strong as the others; opaque, because it covers the foot of the one above it. */
function barsOf(Plot: typeof uPlot, color: string, running: boolean): uPlot.Series.PathBuilder {
  const size: [number, number] = [0.8, 40];
  const plain = Plot.paths.bars?.({ size }) ?? (() => null);
  if (!running) return plain;
  const pale = mixed(color, inkOf("--bg"), PALE);
  const each: uPlot.Series.BarsPathBuilderFacet = {
    unit: COLORS_UNIT,
    values: ({ data: [x] }) =>
      Array.from(x, (_, i) => (i === x.length - 1 ? pale : color)) as never,
  };
  return Plot.paths.bars?.({ size, disp: { fill: each, stroke: each } }) ?? plain;
}

function seriesOf(Plot: typeof uPlot, shape: PlotShape, one: Drawn): uPlot.Series {
  const { series, unit, valueAt, running } = shape;
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
  if (draw === "points" || draw === "triangles") {
    const marks: uPlot.Series.Points = { show: true, size: draw === "points" ? 5 : 8, fill: color };
    if (draw === "triangles") marks.paths = triangles;
    return { ...common, paths: () => null, points: marks };
  }
  // Between two gaps there is no line: the value stands as a point.
  if (draw === "line")
    return {
      ...common,
      points: {
        show: true,
        size: 4,
        fill: color,
        filter: ({ data }, at) => lonely(data[at] ?? []),
      },
    };
  const paths = barsOf(Plot, color, running && draw === "bars");
  return { ...common, paths, fill: draw === "bars" ? color : "transparent", width: 1 };
}

/** What the library needs to draw it. */
export function plotOptions(Plot: typeof uPlot, shape: PlotShape): uPlot.Options {
  const { width, height, series, unit, max, log, range, onMark, legend, onHover } = shape;
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
    legend: { show: legend },
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
      { ...axis, size: TIMES_PX, values: timesOf },
      { ...axis, size: widthOf, ...values },
    ],
    series: [
      { value: (_, s) => (s === null ? "–" : timesOf(_, [s], 0, 0, 60).join()) },
      ...series.map((one) => seriesOf(Plot, shape, one)),
    ],
    hooks: {
      setCursor: [({ cursor }) => onHover(cursor.idx ?? null)],
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
