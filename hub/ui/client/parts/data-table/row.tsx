import { memo } from "react";
import type { Column } from "./column.ts";

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
