import type { Clock } from "#shared/kit/clock.ts";
import type { CdpSession, Protocol } from "../cdp/connection.ts";

type Button = Protocol.Input.MouseButton;
const BUTTONS: [bit: number, button: Button, held: number][] = [
  [1, "left", 1],
  [2, "middle", 4],
  [4, "right", 2],
];
/** Pixels of one notch. */
const NOTCH = 120;
const WHEEL: [bit: number, deltaX: number, deltaY: number][] = [
  [8, 0, -NOTCH],
  [16, 0, NOTCH],
  [32, -NOTCH, 0],
  [64, NOTCH, 0],
];
const DOUBLE_CLICK = { ms: 500, px: 5 };

/** Buttons of the mouse as the page should know them. */
const held = (mask: number): number =>
  BUTTONS.reduce((bits, [bit, , value]) => bits | (mask & bit ? value : 0), 0);

/** The mouse of one viewer. */
export interface RfbPointer {
  /** `mask`: buttons that are down; 4 to 7 are the wheel. `modifiers`: keys that are down. */
  moved(page: CdpSession, mask: number, at: { x: number; y: number }, modifiers: number): void;
  /** Releases the buttons that are still down. */
  release(page: CdpSession | null): void;
}

export function createRfbPointer(clock: Clock): RfbPointer {
  let buttons = 0;
  let click = { at: Number.NEGATIVE_INFINITY, x: 0, y: 0, button: "none" as Button, count: 0 };
  let last = { x: 0, y: 0 };

  const countClick = (button: Button, x: number, y: number): number => {
    const now = clock.monotonic();
    const near =
      Math.abs(x - click.x) <= DOUBLE_CLICK.px && Math.abs(y - click.y) <= DOUBLE_CLICK.px;
    const again = near && button === click.button && now - click.at <= DOUBLE_CLICK.ms;
    click = { at: now, x, y, button, count: again ? click.count + 1 : 1 };
    return click.count;
  };
  return {
    moved: (page, mask, { x, y }, modifiers) => {
      const before = buttons;
      buttons = mask;
      const common = { x, y, modifiers };
      if (x !== last.x || y !== last.y) {
        last = { x, y };
        const [, button] = BUTTONS.find(([bit]) => before & bit) ?? [0, "none" as Button];
        page.post("Input.dispatchMouseEvent", {
          type: "mouseMoved",
          ...common,
          button,
          buttons: held(before),
        });
      }
      for (const [bit, button] of BUTTONS) {
        if ((mask & bit) === (before & bit)) continue;
        const pressed = (mask & bit) !== 0;
        page.post("Input.dispatchMouseEvent", {
          type: pressed ? "mousePressed" : "mouseReleased",
          ...common,
          button,
          buttons: held(mask),
          clickCount: pressed ? countClick(button, x, y) : click.count,
        });
      }
      for (const [bit, deltaX, deltaY] of WHEEL)
        if (mask & bit && !(before & bit))
          page.post("Input.dispatchMouseEvent", { type: "mouseWheel", ...common, deltaX, deltaY });
    },
    release: (page) => {
      for (const [bit, button] of BUTTONS)
        if (buttons & bit)
          page?.post("Input.dispatchMouseEvent", { type: "mouseReleased", ...last, button });
      buttons = 0;
    },
  };
}
