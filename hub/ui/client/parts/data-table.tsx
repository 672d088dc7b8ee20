import { Box } from "@mantine/core";
import { useVirtualizer } from "@tanstack/react-virtual";
import {
  type KeyboardEvent,
  type MouseEvent,
  startTransition,
  useCallback,
  useContext,
  useEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";
import { useLocation } from "wouter";
import { density, subscribeDensity } from "../lib/density.ts";
import { RoomTaken } from "./beside/room-taken.ts";
import { type Column, FROM_PX, rowPx, shownAt } from "./data-table/column.ts";
import { Check, Row } from "./data-table/row.tsx";

export { type Column, pickFrom } from "./data-table/column.ts";

interface DataTableProps<T> {
  /** Says what the table lists, for screen readers. */
  label: string;
  columns: Column<T>[];
  rows: readonly T[];
  rowKey: (row: T) => string;
  /** The page of a row. */
  href?: (row: T) => string;
  /** Shows a row beside the table; its page then opens with a double click, or with Enter on the row that is shown. */
  onOpen?: ((row: T) => void) | undefined;
  selected?: ReadonlySet<string>;
  onSelect?: (keys: Set<string>) => void;
  /** Key of the row whose detail is shown beside the table. */
  current?: string | undefined;
  /** Rows have a picture: they are higher. */
  media?: boolean;
  /** Rows are drawn as they come into view when there are more than fit; the table scrolls in itself then. */
  height?: number | string;
}

const VIRTUAL_FROM = 100;
/** More than a window shows. The others are drawn afterwards, this many in each frame. */
const FIRST_ROWS = 30;
const MORE_ROWS = 15;

const subscribeWidth = (heard: () => void) => {
  window.addEventListener("resize", heard);
  return () => window.removeEventListener("resize", heard);
};
/** The largest breakpoint that what is left of the window reaches: a table is drawn again only when that changes. */
const reachedPx = (taken: number): number =>
  Object.values(FROM_PX).findLast((px) => px <= window.innerWidth - taken) ?? 0;

/** How many rows are drawn by now. */
function useDrawn(rows: number): number {
  const [drawn, setDrawn] = useState(FIRST_ROWS);
  useEffect(() => {
    if (drawn < rows) startTransition(() => setDrawn(drawn + MORE_ROWS));
  }, [drawn, rows]);
  return drawn;
}

/** The row that an event in the table comes from; null for one of a dialog that a row has opened outside of it. */
function rowAt(event: MouseEvent | KeyboardEvent): HTMLElement | null {
  const element = (event.target as HTMLElement).closest<HTMLElement>("[data-index]");
  return element && event.currentTarget.contains(element) ? element : null;
}

/** The link of a row's name acts as the row does, unless it was clicked to open another tab or window. */
const isPlainName = (control: Element, { ctrlKey, metaKey, shiftKey }: MouseEvent): boolean =>
  control.classList.contains("row-link") && !ctrlKey && !metaKey && !shiftKey;

/** Chooses rows. The function stays the same while the table stands, so that rows need not be drawn again for it. */
function useToggle(
  selected: ReadonlySet<string> | undefined,
  onSelect: ((keys: Set<string>) => void) | undefined,
) {
  const latest = useRef({ selected, onSelect });
  useEffect(() => {
    latest.current = { selected, onSelect };
  });
  return useCallback((id: string) => {
    const next = new Set(latest.current.selected);
    if (!next.delete(id)) next.add(id);
    latest.current.onSelect?.(next);
  }, []);
}

/**
 * A table with a row per record: arrows, Home and End go through the rows, Enter opens one, Space selects it. Long ones draw only the rows in view.
 */
export function DataTable<T>(props: DataTableProps<T>) {
  const { label, rows, rowKey, href, onOpen, selected, onSelect, height } = props;
  const media = props.media ?? false;
  const compact = useSyncExternalStore(subscribeDensity, density) === "compact";
  const row_px = rowPx(media, compact);
  const taken = useContext(RoomTaken);
  const width = useSyncExternalStore(subscribeWidth, () => reachedPx(taken));
  const columns = useMemo(() => shownAt(props.columns, width), [props.columns, width]);
  const [, navigate] = useLocation();
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = rows.length > VIRTUAL_FROM;
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => row_px,
    overscan: 12,
    enabled: virtual,
  });
  // Its sizes are of the rows as they were.
  useEffect(() => {
    if (row_px > 0) virtualizer.measure();
  }, [row_px, virtualizer]);
  const count = useDrawn(virtual ? 0 : rows.length);
  const toggle = useToggle(selected, onSelect);
  const opens = Boolean(onOpen || href);
  const open = (row: T) => {
    if (!onOpen) {
      if (href) navigate(href(row));
    } else if (rowKey(row) !== props.current) onOpen(row);
  };
  const openPage = (row: T) => (href ? navigate(href(row)) : open(row));
  const focusRow = (index: number) => {
    const at = Math.max(0, Math.min(rows.length - 1, index));
    const focus = (): boolean => {
      const row = scroller.current?.querySelector<HTMLElement>(`[data-index="${at}"]`);
      row?.focus();
      return Boolean(row);
    };
    if (virtual) virtualizer.scrollToIndex(at);
    // A row that is not drawn yet appears with the next frame.
    if (!focus()) requestAnimationFrame(focus);
  };
  const onClick = (event: MouseEvent) => {
    const element = rowAt(event);
    const row = rows[Number(element?.dataset.index)];
    if (!opens || !element || row === undefined) return;
    const control = (event.target as HTMLElement).closest("a,button,input,label");
    if (control && !isPlainName(control, event)) return;
    event.preventDefault();
    if (event.type === "dblclick") openPage(row);
    else open(row);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const element = rowAt(event);
    const index = Number(element?.dataset.index);
    const row = rows[index];
    if (element !== event.target || row === undefined) return;
    const to = {
      ArrowDown: index + 1,
      j: index + 1,
      ArrowUp: index - 1,
      k: index - 1,
      Home: 0,
      End: rows.length - 1,
    }[event.key];
    if (to !== undefined) focusRow(to);
    else if (event.key === "Enter" && opens) {
      if (rowKey(row) === props.current) openPage(row);
      else open(row);
    } else if (event.key === " " && onSelect) toggle(rowKey(row));
    else return;
    event.preventDefault();
  };
  const template = [...(onSelect ? ["36px"] : []), ...columns.map((column) => column.width)].join(
    " ",
  );
  const drawn: { index: number; start?: number }[] = virtual
    ? virtualizer.getVirtualItems()
    : rows.slice(0, count).map((_, index) => ({ index }));
  return (
    <Box
      ref={scroller}
      className="data-table"
      role="table"
      aria-label={label}
      aria-rowcount={rows.length + 1}
      style={{ maxHeight: virtual ? (height ?? "70vh") : undefined, "--columns": template }}
      data-virtual={virtual || undefined}
      data-media={media || undefined}
    >
      <div role="rowgroup" className="head">
        <div role="row" className="row" aria-rowindex={1}>
          {onSelect && (
            <div role="columnheader" className="cell">
              <Check
                label="Select every row"
                checked={rows.length > 0 && selected?.size === rows.length}
                partly={Boolean(selected && selected.size > 0 && selected.size < rows.length)}
                onChange={(all) => onSelect(new Set(all ? rows.map(rowKey) : []))}
              />
            </div>
          )}
          {columns.map((column) => (
            <div key={column.key} role="columnheader" className="cell" data-align={column.align}>
              {column.title}
            </div>
          ))}
        </div>
      </div>
      <div
        role="rowgroup"
        style={virtual ? { height: virtualizer.getTotalSize(), position: "relative" } : undefined}
        onClick={onClick}
        onDoubleClick={href && onOpen && onClick}
        onKeyDown={onKeyDown}
      >
        {drawn.map(({ index, start }) => {
          const row = rows[index];
          if (row === undefined) return null;
          const id = rowKey(row);
          return (
            <Row
              key={id}
              row={row}
              id={id}
              index={index}
              columns={columns}
              opens={opens}
              selected={selected?.has(id)}
              onToggle={onSelect && toggle}
              current={id === props.current}
              top={virtual ? start : undefined}
              height={row_px}
            />
          );
        })}
      </div>
    </Box>
  );
}
