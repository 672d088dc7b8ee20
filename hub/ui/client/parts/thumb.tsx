import { IconPhotoOff } from "@tabler/icons-react";
import { type ReactNode, useState } from "react";

interface ThumbProps {
  /** Of the picture; null where there is none. */
  src: string | null;
  /** Beside a title that says the same: nothing. */
  alt?: string;
  width?: number;
  height?: number;
  /** Over it: how long it runs, that it is live. */
  children?: ReactNode;
}

/** A small picture of a page, in a box that has its size before the picture is there. */
export function Thumb({ src, alt = "", width = 70, height = 44, children }: ThumbProps) {
  const [gone, setGone] = useState(false);
  return (
    <span className="thumb" style={{ width, height }} data-none={src === null || gone || undefined}>
      {src === null || gone ? (
        <IconPhotoOff size={14} stroke={1.75} aria-hidden />
      ) : (
        <img src={src} alt={alt} loading="lazy" onError={() => setGone(true)} />
      )}
      {children}
    </span>
  );
}
