/** Points in a row and a column that stand for the picture. */
const SIDE = 8;
const BYTES_A_POINT = 4;
/** Of 255; a screen on which nothing was drawn yet has 0. */
const DARK = 6;

/** Whether a picture is black all over: the screen of a browser that has drawn nothing yet. */
export function isDark(picture: HTMLCanvasElement): boolean {
  const small = document.createElement("canvas");
  small.width = SIDE;
  small.height = SIDE;
  const context = small.getContext("2d");
  if (!context) return false;
  context.drawImage(picture, 0, 0, SIDE, SIDE);
  return context
    .getImageData(0, 0, SIDE, SIDE)
    .data.every((value, i) => i % BYTES_A_POINT === BYTES_A_POINT - 1 || value < DARK);
}
