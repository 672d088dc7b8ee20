import { SegmentedControl } from "@mantine/core";
import type { ReactNode } from "react";
import { ActIcon } from "./act-icon.tsx";
import type { Act } from "./model/happenings.ts";
import { placeText } from "./model/transport.ts";

interface NowBarProps {
  /** What the moment belongs to, or what was done last. */
  act: Act | null;
  pair: { before_ms: number; after_ms: number };
  ms: number;
  onSeek: (ms: number) => void;
  /** What can be done from this moment on. */
  children: ReactNode;
}

/** Which of the three a moment is. */
export const placeIn = (
  ms: number,
  { before_ms, after_ms }: { before_ms: number; after_ms: number },
): "before" | "at" | "after" => (ms <= before_ms ? "before" : ms >= after_ms ? "after" : "at");

/** The action of the moment: the page before it, at it and after it. */
export function NowBar({ act, pair, ms, onSeek, children }: NowBarProps) {
  if (act === null && !children) return null;
  return (
    <div className="player-now" data-failed={act?.failed || undefined}>
      {act === null ? (
        <span className="player-now-text">The page at {placeText(ms)}</span>
      ) : (
        <>
          <ActIcon act={act} size={16} />
          <span className="player-now-text" title={act.detail}>
            <b>{act.title}</b> <span className="player-now-detail">{act.said || act.detail}</span>
          </span>
          <SegmentedControl
            aria-label="Before, at or after the action"
            value={placeIn(ms, pair)}
            onChange={(place) => {
              const at = { before: pair.before_ms, at: act.at_ms, after: pair.after_ms }[place];
              if (at !== undefined) onSeek(at);
            }}
            data={[
              { value: "before", label: "Before" },
              { value: "at", label: "At" },
              { value: "after", label: "After" },
            ]}
          />
        </>
      )}
      {children}
    </div>
  );
}
