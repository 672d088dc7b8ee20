import { useElementSize } from "@mantine/hooks";
import { memo, useEffect, useMemo, useState } from "react";
import { stripMoments } from "./model/moment.ts";
import type { Stills } from "./screen/stills.ts";

const PICTURE_PX = 120;
/** A live recording is cut into pictures anew only when it has grown by this share. */
const GROWN = 1.25;

interface FilmStripProps {
  /** Whether the screen was recorded. */
  any: boolean;
  whole_ms: number;
  stills: Stills | null;
}

/** Pictures of the whole recording beside each other. */
export const FilmStrip = memo(({ any, whole_ms, stills }: FilmStripProps) => {
  const { ref, width } = useElementSize();
  const pictures = Math.max(3, Math.min(12, Math.round(width / PICTURE_PX)));
  const drawn_ms = useStepped(whole_ms);
  const moments = useMemo(
    () => (width === 0 || !any ? [] : stripMoments(drawn_ms, pictures)),
    [drawn_ms, pictures, width, any],
  );
  return (
    <div className="player-strip" ref={ref}>
      {moments.map((ms) => (
        <Still key={ms} ms={ms} width={160} stills={stills} />
      ))}
    </div>
  );
});

function useStepped(whole_ms: number): number {
  const [stepped, setStepped] = useState(whole_ms);
  useEffect(() => {
    if (whole_ms > stepped * GROWN || whole_ms < stepped) setStepped(whole_ms);
  }, [whole_ms, stepped]);
  return stepped;
}

interface StillProps {
  ms: number;
  width: number;
  stills: Stills | null;
  /** What it shows, where that is not said beside it. */
  alt?: string;
  /** Before other pictures that wait. */
  soon?: boolean;
}

/** A small picture of a moment, once it is decoded. */
export function Still({ ms, width, stills, alt = "", soon = false }: StillProps) {
  const [url, setUrl] = useState<string | null>(null);
  useEffect(() => {
    if (!stills) return;
    let gone = false;
    void stills.at(ms, width, soon).then((made) => {
      if (!gone) setUrl(made);
    });
    return () => {
      gone = true;
    };
  }, [stills, ms, width, soon]);
  return (
    <span className="player-still" data-empty={url === null || undefined}>
      {url && <img src={url} alt={alt} draggable={false} />}
    </span>
  );
}
