import { Box, Checkbox, Text } from "@mantine/core";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, type ReactNode, useRef, useSyncExternalStore } from "react";
import { useLocation } from "wouter";

export interface Column<T> {
  key: string;
  title: string;
  /** Of a CSS grid: "120px", "1fr", "minmax(160px, 2fr)". */
  width: string;
  cell: (row: T) => ReactNode;
  align?: "end";
  /** Left out where the window is narrower than this breakpoint of the theme. */
  from?: "sm" | "md" | "lg";
}

interface DataTableProps<T> {
  /** Says what the table lists, for those who do not see it. */
  label: string;
  columns: Column<T>[];
  rows: readonly T[];
  rowKey: (row: T) => string;
  /** Where a row leads to. */
  href?: (row: T) => string;
  /** What a row opens instead. */
  onOpen?: (row: T) => void;
  selected?: ReadonlySet<string>;
  onSelect?: (keys: Set<string>) => void;
  /** Rows are drawn as they come into view when there are more than fit; the table scrolls in itself then. */
  height?: number | string;
}

const ROW_PX = 40;
const VIRTUAL_FROM = 100;

/** Mantine's breakpoints, in pixels of the window. */
const FROM_PX = { sm: 768, md: 992, lg: 1_200 };
const subscribeWidth = (heard: () => void) => {
  window.addEventListener("resize", heard);
  return () => window.removeEventListener("resize", heard);
};
/** The largest breakpoint that the window reaches: a table is drawn again only when that changes. */
const reachedPx = () =>
  Object.values(FROM_PX).findLast((px) => window.matchMedia(`(min-width: ${px}px)`).matches) ?? 0;

/**
 * A table with a row per record: arrows, Home and End go through the rows, Enter opens one, Space selects it. Long ones draw only the rows in view.
 */
export function DataTable<T>(props: DataTableProps<T>) {
  const { label, rows, rowKey, href, onOpen, selected, onSelect, height } = props;
  const width = useSyncExternalStore(subscribeWidth, reachedPx);
  const columns = props.columns.filter(({ from }) => !from || FROM_PX[from] <= width);
  const [, navigate] = useLocation();
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = rows.length > VIRTUAL_FROM;
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 12,
    enabled: virtual,
  });
  const open = (row: T) => {
    if (onOpen) onOpen(row);
    else if (href) navigate(href(row));
  };
  const opens = Boolean(onOpen || href);
  const toggle = (key: string) => {
    const next = new Set(selected);
    if (!next.delete(key)) next.add(key);
    onSelect?.(next);
  };
  const focusRow = (index: number) => {
    const at = Math.max(0, Math.min(rows.length - 1, index));
    const focus = (): boolean => {
      const row = scroller.current?.querySelector<HTMLElement>(`[data-index="${at}"]`);
      row?.focus();
      return Boolean(row);
    };
    if (virtual) virtualizer.scrollToIndex(at);
    // One that is not drawn yet is there with the next frame.
    if (!focus()) requestAnimationFrame(focus);
  };
  const onKey = (event: KeyboardEvent, index: number, row: T) => {
    if (event.target !== event.currentTarget) return;
    const to = {
      ArrowDown: index + 1,
      j: index + 1,
      ArrowUp: index - 1,
      k: index - 1,
      Home: 0,
      End: rows.length - 1,
    }[event.key];
    if (to !== undefined) focusRow(to);
    else if (event.key === "Enter" && opens) open(row);
    else if (event.key === " " && onSelect) toggle(rowKey(row));
    else return;
    event.preventDefault();
  };
  const template = [...(onSelect ? ["36px"] : []), ...columns.map((column) => column.width)].join(
    " ",
  );
  const drawn = virtual
    ? virtualizer.getVirtualItems().map(({ index, start }) => ({ index, start }))
    : rows.map((_, index) => ({ index, start: 0 }));
  return (
    <Box
      ref={scroller}
      className="data-table"
      role="table"
      aria-label={label}
      aria-rowcount={rows.length + 1}
      style={{ maxHeight: virtual ? (height ?? "70vh") : undefined, "--columns": template }}
      data-virtual={virtual || undefined}
    >
      <div role="rowgroup" className="head">
        <div role="row" className="row" aria-rowindex={1}>
          {onSelect && (
            <div role="columnheader" className="cell">
              <Checkbox
                size="xs"
                aria-label="Select every row"
                checked={rows.length > 0 && selected?.size === rows.length}
                indeterminate={Boolean(
                  selected && selected.size > 0 && selected.size < rows.length,
                )}
                onChange={(event) =>
                  onSelect(new Set(event.currentTarget.checked ? rows.map(rowKey) : []))
                }
              />
            </div>
          )}
          {columns.map((column) => (
            <div key={column.key} role="columnheader" className="cell" data-align={column.align}>
              <Text size="xs" fw={600} c="dimmed" truncate>
                {column.title}
              </Text>
            </div>
          ))}
        </div>
      </div>
      <div
        role="rowgroup"
        style={virtual ? { height: virtualizer.getTotalSize(), position: "relative" } : undefined}
      >
        {drawn.map(({ index, start }) => {
          const row = rows[index];
          if (row === undefined) return null;
          const key = rowKey(row);
          return (
            <div
              key={key}
              role="row"
              className="row body"
              tabIndex={index === 0 ? 0 : -1}
              data-index={index}
              data-opens={opens || undefined}
              aria-rowindex={index + 2}
              aria-selected={selected?.has(key)}
              style={
                virtual
                  ? { position: "absolute", top: start, left: 0, right: 0, height: ROW_PX }
                  : undefined
              }
              onClick={(event) => {
                // What a dialog of the row is clicked on comes here too, from outside of it.
                if (
                  opens &&
                  event.currentTarget.contains(event.target as Node) &&
                  !(event.target as HTMLElement).closest("a,button,input,label,[role=dialog]")
                )
                  open(row);
              }}
              onKeyDown={(event) => onKey(event, index, row)}
            >
              {onSelect && (
                <div role="cell" className="cell">
                  <Checkbox
                    size="xs"
                    aria-label={`Select ${key}`}
                    checked={selected?.has(key) ?? false}
                    onChange={() => toggle(key)}
                  />
                </div>
              )}
              {columns.map((column) => (
                <div key={column.key} role="cell" className="cell" data-align={column.align}>
                  {column.cell(row)}
                </div>
              ))}
            </div>
          );
        })}
      </div>
    </Box>
  );
}
