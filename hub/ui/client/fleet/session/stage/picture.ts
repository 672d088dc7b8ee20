import type { PickBox } from "#shared/protocol/schema/recorded-input.ts";

/** Where the picture is on the page, and how many of its pixels are one of ours. */
export interface PictureFrame {
  left: number;
  top: number;
  scale: number;
}

/** The viewer's page is this server's own; null until it shows a picture. */
export function pictureIn(viewer: HTMLIFrameElement | null): PictureFrame | null {
  const canvas = viewer?.contentDocument?.querySelector<HTMLCanvasElement>("#screen canvas");
  if (!canvas || canvas.width === 0) return null;
  const { left, top, width } = canvas.getBoundingClientRect();
  return { left, top, scale: width / canvas.width };
}

/** A point of the stage as a point of the picture. */
export const toPicture = ({ left, top, scale }: PictureFrame, x: number, y: number) => ({
  x: (x - left) / scale,
  y: (y - top) / scale,
});

/** A box of the picture as a style on the stage. */
export const onStage = ({ left, top, scale }: PictureFrame, box: PickBox) => ({
  left: left + box.x * scale,
  top: top + box.y * scale,
  width: box.width * scale,
  height: box.height * scale,
});
