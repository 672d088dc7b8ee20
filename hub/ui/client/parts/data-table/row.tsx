import { memo, type ReactNode } from "react";

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
  <T,>(columns: Record<string, Column<T>>) =>
  (...names: string[]): Column<T>[] =>
    names.flatMap((name) => columns[name] ?? []);

/** How high a row is, as the styles have it: with a picture, and by density. */
export function rowPx(media: boolean, compact: boolean): number {
  if (media) return compact ? 48 : 56;
  return compact ? 28 : 32;
}

interface CheckProps {
  label: string;
  checked: boolean;
  /** Some are and some are not. */
  partly?: boolean;
  onChange: (checked: boolean) => void;
}

export function Check({ label, checked, partly = false, onChange }: CheckProps) {
  return (
    <input
      type="checkbox"
      className="check"
      aria-label={label}
      checked={checked}
      ref={(element) => {
        if (element) element.indeterminate = partly;
      }}
      onChange={(event) => onChange(event.currentTarget.checked)}
    />
  );
}

interface RowProps<T> {
  row: T;
  id: string;
  index: number;
  columns: readonly Column<T>[];
  /** A click or Enter on it leads somewhere. */
  opens: boolean;
  selected: boolean | undefined;
  /** The same function as long as the table stands. */
  onToggle: ((id: string) => void) | undefined;
  /** It is the one whose detail is shown. */
  current: boolean;
  /** Its place in a table that draws only the rows in view. */
  top: number | undefined;
  height: number;
}

function TableRow<T>(props: RowProps<T>) {
  const { row, id, index, columns, opens, selected, current, onToggle, top, height } = props;
  return (
    <div
      role="row"
      className="row body"
      tabIndex={index === 0 ? 0 : -1}
      data-index={index}
      data-opens={opens || undefined}
      aria-rowindex={index + 2}
      aria-selected={selected}
      aria-current={current || undefined}
      style={
        top === undefined ? undefined : { position: "absolute", top, left: 0, right: 0, height }
      }
    >
      {onToggle && (
        <div role="cell" className="cell">
          <Check label={`Select ${id}`} checked={selected ?? false} onChange={() => onToggle(id)} />
        </div>
      )}
      {columns.map((column) => (
        <div key={column.key} role="cell" className="cell" data-align={column.align}>
          {column.cell(row)}
        </div>
      ))}
    </div>
  );
}

/** Drawn again when its record or its columns are others: after a live update most of them are the same. */
export const Row = memo(TableRow) as typeof TableRow;
