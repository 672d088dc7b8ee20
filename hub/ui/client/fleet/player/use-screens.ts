import { useEffect, useRef, useState } from "react";
import type { ChunkPlace } from "#shared/recording/index-of.ts";
import { createChunks, type ReadChunk } from "./screen/chunks.ts";
import { openStills, type Stills } from "./screen/stills.ts";
import { type RecordingOf, readerOf } from "./source.ts";

/** What reads a recording's screen for as long as the player is shown. */
export function useScreens(
  { kind, id }: RecordingOf,
  chunks: readonly ChunkPlace[],
): {
  readChunk: ReadChunk | null;
  stills: Stills | null;
} {
  const latest = useRef(chunks);
  useEffect(() => {
    latest.current = chunks;
  });
  const [made, setMade] = useState<{ readChunk: ReadChunk; stills: Stills } | null>(null);
  useEffect(() => {
    const over = new AbortController();
    const readChunk = createChunks(readerOf({ kind, id }), over.signal);
    const stills = openStills(readChunk, () => latest.current);
    setMade({ readChunk, stills });
    return () => {
      over.abort();
      stills.close();
      setMade(null);
    };
  }, [kind, id]);
  return made ?? { readChunk: null, stills: null };
}
