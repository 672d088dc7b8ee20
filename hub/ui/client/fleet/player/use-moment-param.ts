import { useEffect, useRef } from "react";
import { useFilters } from "../../lib/filters.ts";
import { FAILURE } from "./model/failure.ts";
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

/**
 * The moment in the address is written where the player stands still, and a link that is opened on the same page goes
 * there. `?t=failure` goes to `failure_ms`, as soon as that is known.
 * @param opening_ms where the page opens by itself: that needs no word in its address
 */
export function useMomentInAddress(
  { ms, playing, following }: Transport,
  onSeek: (ms: number) => void,
  { failure_ms, opening_ms }: { failure_ms: number | null; opening_ms: number | null },
): void {
  const [{ t }, setFilters] = useFilters({ t: "", at: "" });
  const written = useRef(t);
  useEffect(() => {
    if (playing || t === FAILURE) return;
    const timer = setTimeout(() => {
      const now = following || ms === opening_ms ? "" : momentParam(ms);
      if (now === written.current) return;
      written.current = now;
      setFilters({ t: now, at: "" });
    }, QUIET_MS);
    return () => clearTimeout(timer);
  }, [ms, playing, following, t, opening_ms, setFilters]);
  useEffect(() => {
    if (t === written.current) return;
    written.current = t;
    const asked = momentOfParam(t);
    if (asked !== null) onSeek(asked);
  }, [t, onSeek]);
  useEffect(() => {
    if (t !== FAILURE || failure_ms === null) return;
    onSeek(failure_ms);
    // An address has tenths of a second only: it follows the player, and not the player it.
    written.current = momentParam(failure_ms);
    setFilters({ t: written.current, at: "" });
  }, [t, failure_ms, onSeek, setFilters]);
}
