import { expect, test } from "bun:test";
import { placeOn } from "#worker/browser/lanes/window-keeper.ts";

const SCREEN = { width: 900, height: 612 };
const at = (x: number, y: number, width: number, height: number) => ({ x, y, width, height });
const WHOLE = at(0, 0, 900, 612);

test("a window that fills the screen, covers it, or is Chromium's one pixel short of it, fills it", () => {
  expect(placeOn(SCREEN, { place: at(0, 0, 1_920, 1_080), fills: true })).toEqual(WHOLE);
  expect(placeOn(SCREEN, { place: at(0, 0, 400, 300), fills: true })).toEqual(WHOLE);
  expect(placeOn(SCREEN, { place: at(5, 5, 1_000, 700), fills: false })).toEqual(WHOLE);
  expect(placeOn(SCREEN, { place: at(0, 0, 899, 611), fills: false })).toEqual(WHOLE);
});

test("a smaller window keeps its size and place, but for what would lie beyond the screen", () => {
  const keep = (x: number, y: number, width: number, height: number) =>
    placeOn(SCREEN, { place: at(x, y, width, height), fills: false });
  expect(keep(10, 20, 400, 300)).toEqual(at(10, 20, 400, 300));
  expect(keep(700, 500, 400, 300)).toEqual(at(500, 312, 400, 300));
  expect(keep(-50, -50, 400, 300)).toEqual(at(0, 0, 400, 300));
  expect(keep(0, 0, 2_000, 300)).toEqual(at(0, 0, 900, 300));
  expect(keep(0, 0, 898, 612)).toEqual(at(0, 0, 898, 612));
});
