import { memo, useEffect, useMemo, useState } from "react";
import { stripMoments } from "./model/moment.ts";
import type { Stills } from "./screen/stills.ts";

const PICTURE_PX = 112;
const [FEWEST, MOST] = [4, 16];
/** A live recording is cut into pictures anew only when it has grown by this share. */
const GROWN = 1.25;

/** Moments of the film's pictures, evenly spaced; as many as there is room for. */
export function useFrames(any: boolean, whole_ms: number, width: number): readonly number[] {
  const drawn_ms = useStepped(whole_ms);
  const count = Math.max(FEWEST, Math.min(MOST, Math.round(width / PICTURE_PX)));
  return useMemo(
    () => (any && width > 0 ? stripMoments(drawn_ms, count) : []),
    [any, drawn_ms, count, width],
  );
}

function useStepped(whole_ms: number): number {
  const [stepped, setStepped] = useState(whole_ms);
  useEffect(() => {
    if (whole_ms > stepped * GROWN || whole_ms < stepped) setStepped(whole_ms);
  }, [whole_ms, stepped]);
  return stepped;
}

interface FilmStripProps {
  frames: readonly number[];
  stills: Stills | null;
}

/** Pictures of the whole recording beside each other. */
export const FilmStrip = memo(({ frames, stills }: FilmStripProps) => (
  <div className="player-film">
    {frames.map((ms) => (
      <Still key={ms} ms={ms} width={200} stills={stills} />
    ))}
  </div>
));

interface StillProps {
  ms: number;
  width: number;
  stills: Stills | null;
}

/** A small picture of a moment, once it is decoded. */
function Still({ ms, width, stills }: StillProps) {
  const [url, setUrl] = useState<string | null>(null);
  useEffect(() => {
    if (!stills) return;
    let gone = false;
    void stills.at(ms, width).then((made) => {
      if (!gone) setUrl(made);
    });
    return () => {
      gone = true;
    };
  }, [stills, ms, width]);
  return (
    <span className="player-still" data-empty={url === null || undefined}>
      {url && <img src={url} alt="" draggable={false} />}
    </span>
  );
}
