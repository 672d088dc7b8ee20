import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef } from "react";
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
}

interface MomentListProps {
  label: string;
  rows: readonly MomentRow[];
  ms: number;
  onSeek: (ms: number) => void;
  /** What stands there without rows. */
  empty: string;
}

const ROW_PX = 30;

/** Rows ordered by time. The one of the moment is marked and stays in view; each leads to its moment. */
export function MomentList({ label, rows, ms, onSeek, empty }: MomentListProps) {
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
  if (rows.length === 0) return <p className="player-none">{empty}</p>;
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
                role="listitem"
                className="player-row"
                style={{ transform: `translateY(${item.start}px)` }}
                data-level={row.level}
                data-now={item.index === now || undefined}
                data-later={item.index > now || undefined}
              >
                <button type="button" onClick={() => onSeek(row.at_ms)} title={row.text}>
                  <span className="at">{placeText(row.at_ms)}</span>
                  <b>{row.name}</b>
                  <span className="text">{row.text}</span>
                  {row.note && <span className="note">{row.note}</span>}
                </button>
              </div>
            )
          );
        })}
      </div>
    </div>
  );
}
