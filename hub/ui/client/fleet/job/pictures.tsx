import { useState } from "react";

interface PictureProps {
  src: string | null;
  /** Of the box, which is there before the picture and without one. */
  className: string;
  alt?: string;
}

/** A small picture in a box of a fixed size; an empty box where there is none, or no longer. */
export function SmallPicture({ src, className, alt = "" }: PictureProps) {
  const [broken, setBroken] = useState<string | null>(null);
  return (
    <span className={className}>
      {src !== null && src !== broken && (
        <img src={src} alt={alt} loading="lazy" decoding="async" onError={() => setBroken(src)} />
      )}
    </span>
  );
}
