import type { Clock } from "#shared/kit/clock.ts";
import type { CdpSession, Protocol } from "../cdp/connection.ts";
import { keyOf, MODIFIER } from "./rfb-keys.ts";

/** Key and pointer messages of one viewer as input of the page. */
export interface RfbInput {
  key(page: CdpSession, keysym: number, down: boolean): void;
  /** `mask`: buttons that are down; 4 to 7 are the wheel. Position in CSS pixels. */
  pointer(page: CdpSession, mask: number, x: number, y: number): void;
  /** Sets the text that Ctrl+V pastes from now on: a headless browser shares no clipboard with anybody. */
  clipboard(page: CdpSession | null, text: string): void;
  /** The viewer has text and will send it: a Ctrl+V waits for it. */
  clipboardComing(): void;
  /** Releases all keys and buttons that are still down. */
  release(page: CdpSession | null): void;
}

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
/** Alt, Control, Meta. */
const SHORTCUT = 1 | 2 | 4;
const DOUBLE_CLICK = { ms: 500, px: 5 };

export function createRfbInput(clock: Clock): RfbInput {
  const down = new Map<number, string>();
  let buttons = 0;
  let click = { at: Number.NEGATIVE_INFINITY, x: 0, y: 0, button: "none" as Button, count: 0 };
  let last = { x: 0, y: 0 };
  let text = "";
  let coming = false;
  let pasteWaits = false;

  const modifiers = () =>
    new Set(down.values()).values().reduce((bits, key) => bits | (MODIFIER[key] ?? 0), 0);
  const held = (mask: number) =>
    BUTTONS.reduce((bits, [bit, , value]) => bits | (mask & bit ? value : 0), 0);
  const countClick = (button: Button, x: number, y: number): number => {
    const now = clock.monotonic();
    const near =
      Math.abs(x - click.x) <= DOUBLE_CLICK.px && Math.abs(y - click.y) <= DOUBLE_CLICK.px;
    const again = near && button === click.button && now - click.at <= DOUBLE_CLICK.ms;
    click = { at: now, x, y, button, count: again ? click.count + 1 : 1 };
    return click.count;
  };
  const insert = (page: CdpSession) => {
    if (text !== "") page.post("Input.insertText", { text });
  };
  /** True when it was the shortcut for pasting and has been handled. */
  const paste = (page: CdpSession, key: string): boolean => {
    const active = modifiers();
    const asked =
      (key.toLowerCase() === "v" && active === MODIFIER.Control) ||
      (key === "Insert" && active === MODIFIER.Shift);
    if (!asked || (text === "" && !coming)) return false;
    if (coming) pasteWaits = true;
    else insert(page);
    return true;
  };

  return {
    key: (page, keysym, isDown) => {
      const found = keyOf(keysym);
      if (!found) return;
      const { key, code, vk } = found;
      if (isDown) {
        if (paste(page, key)) return;
        down.set(keysym, key);
      } else down.delete(keysym);
      const active = modifiers();
      // With one of these held, a key is a shortcut and types nothing.
      const shortcut = (active & SHORTCUT) !== 0;
      const written = isDown && !shortcut ? found.text : "";
      page.post("Input.dispatchKeyEvent", {
        type: isDown ? (written === "" ? "rawKeyDown" : "keyDown") : "keyUp",
        key,
        code,
        windowsVirtualKeyCode: vk,
        nativeVirtualKeyCode: vk,
        modifiers: active,
        ...(written === "" ? {} : { text: written, unmodifiedText: written }),
      });
    },
    pointer: (page, mask, x, y) => {
      const before = buttons;
      buttons = mask;
      const common = { x, y, modifiers: modifiers() };
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
    clipboard: (page, given) => {
      text = given;
      coming = false;
      if (pasteWaits && page) insert(page);
      pasteWaits = false;
    },
    clipboardComing: () => {
      coming = true;
    },
    release: (page) => {
      if (page)
        for (const [keysym, key] of down)
          page.post("Input.dispatchKeyEvent", {
            type: "keyUp",
            key,
            code: keyOf(keysym)?.code ?? "",
          });
      if (page && buttons & 7)
        for (const [bit, button] of BUTTONS)
          if (buttons & bit)
            page.post("Input.dispatchMouseEvent", { type: "mouseReleased", ...last, button });
      down.clear();
      buttons = 0;
    },
  };
}
