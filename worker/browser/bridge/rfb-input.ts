import type { Clock } from "#shared/kit/clock.ts";
import type { CdpSession } from "../cdp/connection.ts";
import { createRfbClipboard } from "./rfb-clipboard.ts";
import { keyOf, MODIFIER } from "./rfb-keys.ts";
import { createRfbPointer } from "./rfb-pointer.ts";

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

/** Alt, Control, Meta. */
const SHORTCUT = 1 | 2 | 4;

export function createRfbInput(clock: Clock): RfbInput {
  /** Keys that are down, by their keysym. */
  const down = new Map<number, string>();
  const pointer = createRfbPointer(clock);
  const clipboard = createRfbClipboard();

  const modifiers = () =>
    new Set(down.values()).values().reduce((bits, key) => bits | (MODIFIER[key] ?? 0), 0);
  /** True when it was the shortcut for pasting and has been handled. */
  const paste = (page: CdpSession, key: string): boolean => {
    const active = modifiers();
    const asked =
      (key.toLowerCase() === "v" && active === MODIFIER.Control) ||
      (key === "Insert" && active === MODIFIER.Shift);
    return asked && clipboard.paste(page);
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
    pointer: (page, mask, x, y) => pointer.moved(page, mask, { x, y }, modifiers()),
    clipboard: clipboard.set,
    clipboardComing: clipboard.coming,
    release: (page) => {
      for (const [keysym, key] of down)
        page?.post("Input.dispatchKeyEvent", {
          type: "keyUp",
          key,
          code: keyOf(keysym)?.code ?? "",
        });
      down.clear();
      pointer.release(page);
    },
  };
}
