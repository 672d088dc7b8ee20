/** null where nothing was measured, undefined where another series has a value of its own. */
export type Value = number | null | undefined;

export interface ChartSeries {
  label: string;
  /** CSS colour. */
  color: string;
  /** One value per x. */
  values: readonly Value[];
  /**
   * `line` joins neighbours, and leaves a gap where one is null; `bars` are counts of a time, stacked on each other in the
   * order of the series; `outline` is a bar around them; `points` and `triangles` stand alone. Default `line`.
   */
  draw?: "line" | "bars" | "outline" | "points" | "triangles";
  dash?: boolean;
}

/** From and until, in seconds since the epoch. */
export interface Range {
  from: number;
  until: number;
}

/** What is drawn: bars from the top one down, so that those below cover its foot. */
export interface Drawn extends ChartSeries {
  /** With what lies below it. */
  heights: readonly Value[];
}

/** The series in the order of drawing. A count of zero is no bar; its number stays in the legend. */
export function stacked(series: readonly ChartSeries[]): Drawn[] {
  let below: number[] = [];
  const drawn = series.map((one): Drawn => {
    if (one.draw === "outline")
      return { ...one, heights: one.values.map((value) => value || null) };
    if (one.draw !== "bars") return { ...one, heights: one.values };
    const under = below;
    below = one.values.map((value, i) => (under[i] ?? 0) + (value ?? 0));
    const tops = below;
    return { ...one, heights: one.values.map((value, i) => (value ? (tops[i] ?? null) : null)) };
  });
  const isBar = ({ draw }: Drawn) => draw === "bars";
  return [...drawn.filter((one) => !isBar(one)), ...drawn.filter(isBar).reverse()];
}

/** Where values stand alone, with a gap on either side. What another series has in between is no gap. */
export function lonely(values: ArrayLike<Value>): number[] {
  const own = Array.from({ length: values.length }, (_, i) => i).filter(
    (i) => values[i] !== undefined,
  );
  const isValue = (i: number | undefined) => i !== undefined && typeof values[i] === "number";
  return own.filter((i, at) => isValue(i) && !isValue(own[at - 1]) && !isValue(own[at + 1]));
}

/** The bar that has this height in it, null above all of them. They are drawn from the top one down. */
export function barAt(drawn: readonly Drawn[], index: number, height: number): string | null {
  const met = drawn.filter(
    ({ draw, heights }) => draw === "bars" && (heights[index] ?? 0) >= height && heights[index],
  );
  return met.at(-1)?.label ?? null;
}

/** The value below which that share of them lies; `sorted` ascends and is not empty. */
export function quantile(sorted: readonly number[], share: number): number {
  const at = (sorted.length - 1) * share;
  const low = sorted[Math.floor(at)] ?? 0;
  const high = sorted[Math.ceil(at)] ?? low;
  return low + (high - low) * (at % 1);
}

export interface Distribution {
  x: number[];
  /** One row of values for each group of points, then for each share. */
  points: Value[][];
  quantiles: Value[][];
}

/**
 * Points of several groups, each with its quantiles over all of them in `buckets` equal parts of the range; null in a part
 * that has none.
 */
export function distribution(
  groups: readonly (readonly { at: number; value: number }[])[],
  { from, until }: Range,
  shares: readonly number[],
  buckets = 24,
): Distribution {
  const inside = groups.map((points) => points.filter(({ at }) => at >= from && at <= until));
  const width = (until - from) / buckets;
  const filled = Array.from({ length: buckets }, (): number[] => []);
  for (const { at, value } of inside.flat())
    filled[Math.min(buckets - 1, Math.floor((at - from) / width))]?.push(value);
  for (const values of filled) values.sort((a, b) => a - b);
  const rows = [
    ...inside.flatMap((points, group) => points.map(({ at, value }) => ({ at, group, value }))),
    ...filled.map((values, i) => ({ at: from + (i + 0.5) * width, group: -1, values })),
  ].sort((a, b) => a.at - b.at);
  const bucketOf = (row: (typeof rows)[number]) => ("values" in row ? row.values : undefined);
  return {
    x: rows.map(({ at }) => at),
    points: groups.map((_, group) =>
      rows.map((row) => ("value" in row && row.group === group ? row.value : undefined)),
    ),
    quantiles: shares.map((share) =>
      rows.map((row) => {
        const values = bucketOf(row);
        if (values === undefined) return undefined;
        return values.length === 0 ? null : quantile(values, share);
      }),
    ),
  };
}
