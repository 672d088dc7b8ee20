import type { ReactNode } from "react";

export interface Column<T> {
  key: string;
  title: string;
  /** Of a CSS grid: "120px", "1fr", "minmax(160px, 2fr)". */
  width: string;
  cell: (row: T) => ReactNode;
  align?: "end";
  /** Left out where the window is narrower than this theme breakpoint. */
  from?: "sm" | "md" | "lg";
  /** Left out where the window is as wide as this one. */
  below?: "sm" | "md" | "lg";
}

/** Several tables of the same records: `pickFrom(COLUMNS)("key", "error")`. */
export const pickFrom =
  <T>(columns: Record<string, Column<T>>) =>
  (...names: string[]): Column<T>[] =>
    names.flatMap((name) => columns[name] ?? []);

/** How high a row is, as the styles have it: with a picture, and by density. */
export function rowPx(media: boolean, compact: boolean): number {
  if (media) return compact ? 48 : 56;
  return compact ? 28 : 32;
}

/** Mantine's breakpoints, in pixels of the window. */
export const FROM_PX = { sm: 768, md: 992, lg: 1_200 };

/** Those of the columns that a window of this width has. */
export const shownAt = <T>(columns: readonly Column<T>[], width: number): Column<T>[] =>
  columns.filter(
    ({ from, below }) => (!from || FROM_PX[from] <= width) && (!below || FROM_PX[below] > width),
  );
