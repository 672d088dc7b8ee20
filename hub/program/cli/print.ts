import { paint, paintState } from "./colours.ts";

/** What a page wrote (URLs, titles, errors) must not steer the terminal: control characters become `?`. */
export const printable = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are exactly what is removed
  text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, "?");

/** Cuts `text` to `width` terminal columns, in the middle when `middle`, with `…` for what was removed. */
export function fitText(text: string, width: number, middle = false): string {
  if (Bun.stringWidth(text) <= width) return text;
  if (width <= 1) return "…".slice(0, Math.max(0, width));
  const chars = [...text];
  const take = (from: string[], columns: number): string[] => {
    const taken: string[] = [];
    let used = 0;
    for (const char of from) {
      used += Bun.stringWidth(char);
      if (used > columns) break;
      taken.push(char);
    }
    return taken;
  };
  const tail = middle ? take([...chars].reverse(), Math.floor((width - 1) / 2)).reverse() : [];
  const head = take(chars, width - 1 - Bun.stringWidth(tail.join("")));
  return `${head.join("")}…${tail.join("")}`;
}

const padTo = (text: string, width: number, right: boolean): string => {
  const pad = " ".repeat(Math.max(0, width - Bun.stringWidth(text)));
  return right ? pad + text : text + pad;
};

export interface Column {
  title: string;
  right?: boolean;
  /** Its words are states, in their colours where there are any. */
  state?: true;
  /** Minimum width when the terminal is narrow; a column without one keeps its natural width. */
  shrink?: number;
}

/**
 * A table with aligned columns, no wider than `width` when one is given: the columns that may shrink give way,
 * the widest first, cut in the middle.
 */
export function formatTable(
  columns: readonly Column[],
  rows: string[][],
  width: number | null,
  colours = false,
): string {
  const cells = rows.map((row) => row.map(printable));
  const widths = columns.map((column, i) =>
    Math.max(Bun.stringWidth(column.title), ...cells.map((row) => Bun.stringWidth(row[i] ?? ""))),
  );
  const gaps = 2 * (columns.length - 1);
  if (width !== null) {
    const total = () => widths.reduce((sum, w) => sum + w, gaps);
    for (;;) {
      const over = total() - width;
      const widest = columns
        .map((column, i) => ({ i, spare: (widths[i] ?? 0) - (column.shrink ?? Infinity) }))
        .filter((c) => c.spare > 0)
        .sort((a, b) => (widths[b.i] ?? 0) - (widths[a.i] ?? 0))[0];
      if (over <= 0 || !widest) break;
      // Down to the next column that may shrink at most, so that they share what is missing.
      const others = columns
        .map((column, i) => (column.shrink !== undefined && i !== widest.i ? (widths[i] ?? 0) : 0))
        .filter((w) => w < (widths[widest.i] ?? 0));
      const toNext = (widths[widest.i] ?? 0) - Math.max(0, ...others);
      widths[widest.i] =
        (widths[widest.i] ?? 0) - Math.max(1, Math.min(over, widest.spare, toNext));
    }
  }
  const line = (values: string[], is_head: boolean) =>
    columns
      .map(({ right, state }, i) => {
        const text = fitText(values[i] ?? "", widths[i] ?? 0, true);
        const padded = padTo(text, widths[i] ?? 0, right === true);
        if (!colours) return padded;
        return is_head ? paint(padded, "bold") : state ? paintState(padded) : padded;
      })
      .join("  ")
      .trimEnd();
  const head = line(
    columns.map((c) => c.title.toUpperCase()),
    true,
  );
  return [head, ...cells.map((values) => line(values, false))].join("\n");
}

/** The table as this terminal shows it. */
export const tableFor = (
  { width, colours }: Pick<Terminal, "width" | "colours">,
  columns: readonly Column[],
  rows: string[][],
): string => formatTable(columns, rows, width, colours);

export interface Terminal {
  /** Results, for pipes: text, or the bytes of a file. */
  out(text: string | Uint8Array): void;
  /** Progress and errors. */
  err(text: string): void;
  /** Width of standard output in columns; null when it is not a terminal. */
  width: number | null;
  /** Its lines; null or absent when it is not a terminal. */
  height?: number | null;
  /** Standard output is a terminal that shows colours, and nobody asked for none (NO_COLOR). */
  colours?: boolean;
  /** Standard error is a terminal: progress may rewrite its line. */
  live: boolean;
  liveWidth: number;
  /** Tells the keys as they are pressed, until the returned function is called; absent where nobody types. */
  onKey?: ((listen: (keys: string) => void) => () => void) | undefined;
}
