import { type ReactNode, useEffect, useRef, useState } from "react";
import type { Box } from "#shared/recording/events.ts";
import type { ChunkPlace } from "#shared/recording/index-of.ts";
import { errorText } from "../../lib/query.ts";
import type { ReadChunk } from "./screen/chunks.ts";
import { openPainter, type Painter } from "./screen/painter.ts";

interface StageProps {
  chunks: readonly ChunkPlace[];
  readChunk: ReadChunk | null;
  ms: number;
  /** Of the element that was touched, in pixels of the picture. */
  box: Box | null;
  boxTitle: string;
  /** Replaces the picture: the live screen. */
  instead: ReactNode;
  onPress: () => void;
}

/** The picture of a moment, and on it what was touched. */
export function Stage({ chunks, readChunk, ms, box, boxTitle, instead, onPress }: StageProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [painter, setPainter] = useState<Painter | null>(null);
  const [shown, setShown] = useState<{ ms: number; place: ChunkPlace } | null>(null);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    if (!canvas.current || !readChunk) return;
    const opened = openPainter({
      canvas: canvas.current,
      readChunk,
      onShown: (at, place) => {
        setShown({ ms: at, place });
        setError(null);
      },
      onError: setError,
    });
    setPainter(opened);
    return () => opened.close();
  }, [readChunk]);
  const hidden = instead !== null;
  useEffect(() => {
    if (!hidden) painter?.show(chunks, ms);
  }, [painter, chunks, ms, hidden]);
  const { width = 16, height = 10 } = shown?.place ?? chunks[0] ?? {};
  return (
    <div className="player-stage" style={{ "--ratio": width / height } as React.CSSProperties}>
      {instead}
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the space bar does the same, wherever the focus is */}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: as in every player, a press on the picture plays */}
      <div className="player-picture" hidden={hidden} onClick={onPress}>
        <canvas
          ref={canvas}
          role="img"
          aria-label="Recorded screen"
          width={width}
          height={height}
          data-shown={shown === null ? undefined : Math.round(shown.ms)}
        />
        {box && <BoxOnPicture box={box} title={boxTitle} width={width} height={height} />}
      </div>
      {chunks.length === 0 && !hidden && (
        <p className="player-fault">There is no picture: only what happened was recorded.</p>
      )}
      {error !== null && !hidden && (
        <p className="player-fault" role="alert">
          This moment cannot be shown: {errorText(error)}
        </p>
      )}
    </div>
  );
}

function BoxOnPicture(props: { box: Box; title: string; width: number; height: number }) {
  const { box, title, width, height } = props;
  const share = (n: number, of: number) => `${(n / Math.max(1, of)) * 100}%`;
  return (
    <div
      className="player-box"
      title={title}
      style={{
        left: share(box.x, width),
        top: share(box.y, height),
        width: share(box.width, width),
        height: share(box.height, height),
      }}
    />
  );
}
