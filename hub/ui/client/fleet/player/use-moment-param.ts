import { useEffect, useRef } from "react";
import { useFilters } from "../../lib/filters.ts";
import { momentOfParam, momentOfTime, momentParam, type Transport } from "./model/transport.ts";

/** While somebody drags, the address stays as it is: browsers refuse pages that change it all the time. */
const QUIET_MS = 400;

/**
 * The moment in the address that a page begins with: `?t=12.4`, or `?at=` with a time of day, for links of what does not
 * know when the recording began.
 */
export function useMomentParam(started_at: string): number | null {
  const [{ t, at }] = useFilters({ t: "", at: "" });
  const first = useRef(momentOfParam(t) ?? momentOfTime(at, started_at));
  return first.current;
}

/** The moment in the address is written where the player stands still, and a link that is opened on the same page goes there. */

export function useMomentInAddress(
  { ms, playing, following }: Transport,
  onSeek: (ms: number) => void,
): void {
  const [{ t }, setFilters] = useFilters({ t: "", at: "" });
  const written = useRef(t);
  useEffect(() => {
    if (playing) return;
    const timer = setTimeout(() => {
      const now = following || ms === 0 ? "" : momentParam(ms);
      if (now === written.current) return;
      written.current = now;
      setFilters({ t: now, at: "" });
    }, QUIET_MS);
    return () => clearTimeout(timer);
  }, [ms, playing, following, setFilters]);
  useEffect(() => {
    if (t === written.current) return;
    written.current = t;
    const asked = momentOfParam(t);
    if (asked !== null) onSeek(asked);
  }, [t, onSeek]);
}
