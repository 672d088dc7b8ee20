import { IconLock, IconLockOpen } from "@tabler/icons-react";
import { type ReactNode, useEffect, useRef, useState } from "react";
import type { Box } from "#shared/recording/events.ts";
import type { ChunkPlace } from "#shared/recording/index-of.ts";
import { errorText } from "../../lib/query.ts";
import { Copy } from "../../parts/copy.tsx";
import type { ReadChunk } from "./screen/chunks.ts";
import { isDark } from "./screen/dark.ts";
import { openPainter, type Painter } from "./screen/painter.ts";

interface StageProps {
  chunks: readonly ChunkPlace[];
  readChunk: ReadChunk | null;
  ms: number;
  /** Where the page was at the moment. */
  page: { url: string | null; tabs: number };
  /** Of the element that was touched, in pixels of the picture. */
  box: Box | null;
  boxTitle: string;
  /** Replaces the picture: the live screen. */
  instead: ReactNode;
  /** In its place where no picture was recorded. */
  still: ReactNode;
  /** In its place where the screen is still black. */
  undrawn: ReactNode;
  onPress: () => void;
}

/** The picture of a moment as a window, and on it what was touched. */
export function Stage(props: StageProps) {
  const { chunks, readChunk, ms, page, box, boxTitle, instead, still, undrawn, onPress } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const [painter, setPainter] = useState<Painter | null>(null);
  const [shown, setShown] = useState<{ ms: number; place: ChunkPlace } | null>(null);
  const [dark, setDark] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const pictures = chunks.length > 0;
  useEffect(() => {
    if (!canvas.current || !readChunk || !pictures) return;
    const opened = openPainter({
      canvas: canvas.current,
      readChunk,
      onShown: (at, place) => {
        setShown({ ms: at, place });
        setDark(canvas.current !== null && isDark(canvas.current));
        setError(null);
      },
      onError: setError,
    });
    setPainter(opened);
    return () => opened.close();
  }, [readChunk, pictures]);
  const hidden = instead !== null;
  useEffect(() => {
    if (!hidden) painter?.show(chunks, ms);
  }, [painter, chunks, ms, hidden]);
  const { width = 16, height = 10 } = shown?.place ?? chunks[0] ?? {};
  if (!pictures && !hidden) return <NoPicture page={page}>{still}</NoPicture>;
  return (
    <div className="player-stage" style={{ "--ratio": width / height } as React.CSSProperties}>
      {instead}
      <div className="player-window" hidden={hidden}>
        <AddressBar {...page} size={pictures ? `${width} × ${height}` : ""} />
        {/* biome-ignore lint/a11y/useKeyWithClickEvents: the space bar does the same, wherever the focus is */}
        {/* biome-ignore lint/a11y/noStaticElementInteractions: as in every player, a press on the picture plays */}
        <div className="player-picture" onClick={onPress}>
          <canvas
            ref={canvas}
            role="img"
            aria-label="Recorded screen"
            width={width}
            height={height}
            data-shown={shown === null ? undefined : Math.round(shown.ms)}
          />
          {box && <BoxOnPicture box={box} title={boxTitle} width={width} height={height} />}
          {dark && undrawn && <div className="player-undrawn">{undrawn}</div>}
          {error !== null && (
            <p className="player-fault" role="alert">
              This moment cannot be shown: {errorText(error)}
            </p>
          )}
        </div>
      </div>
    </div>
  );
}

function AddressBar({ url, tabs, size }: { url: string | null; tabs: number; size: string }) {
  const Lock = url?.startsWith("https:") ? IconLock : IconLockOpen;
  return (
    <div className="player-address">
      {url && <Lock size={14} stroke={1.75} aria-hidden />}
      <span className="player-url" title={url ?? undefined}>
        {url ?? "No page is open yet"}
      </span>
      {url && <Copy text={url} label="Copy the address" />}
      {tabs > 1 && <span className="player-size">{tabs} tabs</span>}
      <span className="player-size">{size}</span>
    </div>
  );
}

function NoPicture({ page, children }: { page: StageProps["page"]; children: ReactNode }) {
  return (
    <div className="player-stage">
      <div className="player-window" data-still>
        <AddressBar {...page} size="" />
        {children ?? (
          <p className="player-none">There is no picture: only what happened was recorded.</p>
        )}
      </div>
    </div>
  );
}

function BoxOnPicture(props: { box: Box; title: string; width: number; height: number }) {
  const { box, title, width, height } = props;
  const share = (n: number, of: number) => `${(n / Math.max(1, of)) * 100}%`;
  // Its name stands below it, where there is room.
  const above = box.y + box.height > height * 0.9;
  return (
    <div
      className="player-box"
      title={title}
      data-above={above || undefined}
      data-end={box.x > width * 0.7 || undefined}
      style={{
        left: share(box.x, width),
        top: share(box.y, height),
        width: share(box.width, width),
        height: share(box.height, height),
      }}
    >
      {title && <b className="player-box-name">{title}</b>}
    </div>
  );
}
