import { memo, type PointerEvent, useMemo, useRef } from "react";
import { FilmStrip } from "./film-strip.tsx";
import type { Mark, MarkKind } from "./model/happenings.ts";
import { groupMarks } from "./model/moment.ts";
import { placeText } from "./model/transport.ts";
import type { Stills } from "./screen/stills.ts";

interface ScrubberProps {
  ms: number;
  whole_ms: number;
  following: boolean;
  marks: readonly Mark[];
  /** Whether there are pictures. */
  pictures: boolean;
  stills: Stills | null;
  onSeek: (ms: number) => void;
}

/** The film strip with the marks of what happened, and the place that is shown. Its keys are the player's. */
export function Scrubber(props: ScrubberProps) {
  const { ms, whole_ms, following, marks, pictures, stills, onSeek } = props;
  const track = useRef<HTMLDivElement>(null);
  const seekTo = (event: PointerEvent) => {
    const box = track.current?.getBoundingClientRect();
    if (!box || box.width === 0) return;
    onSeek(((event.clientX - box.left) / box.width) * whole_ms);
  };
  const share = whole_ms > 0 ? (ms / whole_ms) * 100 : 0;
  return (
    <div
      ref={track}
      className="player-scrubber"
      role="slider"
      tabIndex={0}
      aria-label="Place in the recording"
      aria-valuemin={0}
      aria-valuemax={Math.round(whole_ms)}
      aria-valuenow={Math.round(ms)}
      aria-valuetext={following ? "live" : `${placeText(ms)} of ${placeText(whole_ms)}`}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        seekTo(event);
      }}
      onPointerMove={(event) => {
        if (event.currentTarget.hasPointerCapture(event.pointerId)) seekTo(event);
      }}
    >
      <FilmStrip any={pictures} whole_ms={whole_ms} stills={stills} />
      <Marks marks={marks} whole_ms={whole_ms} />
      <div className="player-head" style={{ left: `${share}%` }} />
    </div>
  );
}

/** Places that can be told from each other on a wide page. */
const PLACES = 240;
/** One line for each kind, errors at the top. */
const LINES: MarkKind[] = ["error", "action", "navigation", "input"];

const Marks = memo(({ marks, whole_ms }: { marks: readonly Mark[]; whole_ms: number }) => {
  const groups = useMemo(() => groupMarks(marks, whole_ms, PLACES), [marks, whole_ms]);
  return (
    <div className="player-marks">
      {groups.map(({ at_ms, kind, text, count }) => (
        <i
          key={`${kind} ${at_ms}`}
          data-kind={kind}
          data-many={count > 1 || undefined}
          title={text}
          style={{
            left: `${(at_ms / Math.max(1, whole_ms)) * 100}%`,
            top: `${LINES.indexOf(kind) * 25}%`,
          }}
        />
      ))}
    </div>
  );
});
