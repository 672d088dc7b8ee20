import { useElementSize } from "@mantine/hooks";
import { memo, type PointerEvent, useMemo, useRef } from "react";
import { FilmStrip } from "./film-strip.tsx";
import { tickMoments, tickText } from "./model/film.ts";
import type { Mark } from "./model/happenings.ts";
import { groupMarks } from "./model/moment.ts";
import type { StoryStage } from "./model/story.ts";
import { placeText } from "./model/transport.ts";
import type { Stills } from "./screen/stills.ts";

interface ScrubberProps {
  ms: number;
  whole_ms: number;
  following: boolean;
  marks: readonly Mark[];
  stages: readonly StoryStage[];
  /** Moments of the film's pictures; none where there are no pictures. */
  frames: readonly number[];
  stills: Stills | null;
  onSeek: (ms: number) => void;
}

/** The film with the marks of what happened, and the place that is shown. Its keys are the player's. */
export function Scrubber(props: ScrubberProps) {
  const { ms, whole_ms, following, marks, stages, frames, stills, onSeek } = props;
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
      {frames.length > 0 && <FilmStrip frames={frames} stills={stills} />}
      <Track marks={marks} stages={stages} whole_ms={whole_ms} />
      <div className="player-head" style={{ left: `${share}%` }}>
        <b data-side={share < 3 ? "start" : share > 97 ? "end" : undefined}>
          {following ? "Live" : placeText(ms)}
        </b>
      </div>
    </div>
  );
}

/** Places that can be told from each other on a wide page. */
const PLACES = 240;
/** Of a label of the axis. */
const LABEL_PX = 80;

interface TrackProps {
  marks: readonly Mark[];
  stages: readonly StoryStage[];
  whole_ms: number;
}

/** Bars for the stages, marks for what happened, and the time below. */
const Track = memo(({ marks, stages, whole_ms }: TrackProps) => {
  const { ref, width } = useElementSize();
  const groups = useMemo(() => groupMarks(marks, whole_ms, PLACES), [marks, whole_ms]);
  const ticks = useMemo(() => tickMoments(whole_ms, width / LABEL_PX), [whole_ms, width]);
  const at = (ms: number) => `${(Math.min(ms, whole_ms) / Math.max(1, whole_ms)) * 100}%`;
  return (
    <div className="player-track" ref={ref}>
      <div className="player-spans">
        {stages.length === 0 && <i data-tone="ok" style={{ left: 0, width: "100%" }} />}
        {stages.map(({ key, title, tone, from_ms, until_ms, acts }) => (
          <i
            key={key}
            data-tone={tone}
            data-acts={acts.length > 0 || undefined}
            title={title}
            style={{ left: at(from_ms), width: at((until_ms ?? whole_ms) - from_ms) }}
          />
        ))}
      </div>
      <div className="player-marks">
        {groups.map(({ at_ms, kind, text, count }) => (
          <i
            key={`${kind} ${at_ms}`}
            data-kind={kind}
            data-many={count > 1 || undefined}
            title={text}
            style={{ left: at(at_ms) }}
          />
        ))}
      </div>
      <div className="player-ticks" aria-hidden>
        {ticks.map((ms) => (
          <span key={ms} style={{ left: at(ms) }}>
            {tickText(ms)}
          </span>
        ))}
      </div>
    </div>
  );
});
