import { useEffect, useRef } from "react";

interface Opening {
  /** Whether a link asked for a moment. It counts when the player begins: afterwards the address has the player's own. */
  asked: boolean;
  live: boolean;
  /** Where it opens: the first error, else the end; null until everything that happened is known. */
  at_ms: number | null;
  ms: number;
  whole_ms: number;
  onSeek: (ms: number) => void;
}

/**
 * Opens an ended run where it went wrong. One that ends while it is watched stays where it is, and so does a player that
 * somebody has moved before.
 * @returns where it stands without anybody's doing: at the end until it is known where it opens; null where a link or the
 * run itself says that
 */
export function useOpening({ asked, live, at_ms, ms, whole_ms, onSeek }: Opening): number | null {
  const asked_first = useRef(asked).current;
  const done = useRef(asked || live);
  const moved = ms !== whole_ms;
  useEffect(() => {
    if (done.current || at_ms === null) return;
    done.current = true;
    if (!moved) onSeek(at_ms);
  }, [at_ms, moved, onSeek]);
  return asked_first || live ? null : (at_ms ?? whole_ms);
}
