import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useEffect, useRef } from "react";
import type { HarEntry } from "#shared/protocol/schema/har.ts";
import { countUpTo } from "../model/moment.ts";
import { placeText } from "../model/transport.ts";

export interface MomentRow {
  key: string;
  at_ms: number;
  name: string;
  text: string;
  level?: string;
  /** At the end of the line. */
  note?: string;
  /** Of a request: everything that is known of it. */
  har?: HarEntry;
}

interface MomentListProps {
  label: string;
  rows: readonly MomentRow[];
  ms: number;
  onOpen: (row: MomentRow) => void;
  /** What stands there without rows. */
  empty: ReactNode;
  /** Key of the row whose detail is shown. */
  current?: string | undefined;
  /** What a row shows, in place of time, name and text. */
  children?: (row: MomentRow) => ReactNode;
}

const ROW_PX = 30;

/** Rows ordered by time, as high as their text. The one of the moment is marked and stays in view; each leads to its moment. */
export function MomentList(props: MomentListProps) {
  const { label, rows, ms, onOpen, empty, current, children = lineOf } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 12,
    getItemKey: (index) => rows[index]?.key ?? index,
  });
  const now = countUpTo(rows, ms) - 1;
  useEffect(() => {
    // A person who reads further up or down is left there until the moment goes on to another row.
    if (now >= 0) virtualizer.scrollToIndex(now, { align: "auto" });
  }, [now, virtualizer]);
  if (rows.length === 0) return <div className="player-none">{empty}</div>;
  return (
    <div
      ref={scroller}
      className="player-list"
      role="list"
      aria-label={label}
      tabIndex={0}
      data-scrolls
    >
      <div style={{ height: virtualizer.getTotalSize() }} role="presentation">
        {virtualizer.getVirtualItems().map((item) => {
          const row = rows[item.index];
          return (
            row && (
              <div
                key={item.key}
                ref={virtualizer.measureElement}
                data-index={item.index}
                role="listitem"
                className="player-row"
                style={{ transform: `translateY(${item.start}px)` }}
                data-level={row.level}
                data-now={item.index === now || undefined}
                data-later={item.index > now || undefined}
                aria-current={row.key === current || undefined}
              >
                <button
                  type="button"
                  className="player-row-main"
                  onClick={() => onOpen(row)}
                  title={row.text}
                >
                  {children(row)}
                </button>
              </div>
            )
          );
        })}
      </div>
    </div>
  );
}

const lineOf = ({ at_ms, name, text, note }: MomentRow): ReactNode => (
  <span className="player-line">
    <span className="at">{placeText(at_ms)}</span>
    <b className="player-line-name">{name}</b>
    {note && <span className="note">{note}</span>}
    <span className="text">{text}</span>
  </span>
);
