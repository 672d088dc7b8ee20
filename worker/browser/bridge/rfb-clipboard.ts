import type { CdpSession } from "../cdp/connection.ts";

/** The text that Ctrl+V pastes: a headless browser shares no clipboard with anybody. */
export interface RfbClipboard {
  set(page: CdpSession | null, text: string): void;
  /** The viewer has text and will send it: a paste waits for it. */
  coming(): void;
  /** False when there is nothing to paste. */
  paste(page: CdpSession): boolean;
}

export function createRfbClipboard(): RfbClipboard {
  let text = "";
  let coming = false;
  let paste_waits = false;
  const insert = (page: CdpSession) => {
    if (text !== "") page.post("Input.insertText", { text });
  };
  return {
    set: (page, given) => {
      text = given;
      coming = false;
      if (paste_waits && page) insert(page);
      paste_waits = false;
    },
    coming: () => {
      coming = true;
    },
    paste: (page) => {
      if (text === "" && !coming) return false;
      if (coming) paste_waits = true;
      else insert(page);
      return true;
    },
  };
}
