/** What a key does to the player. */
export type KeyCommand =
  | { do: "toggle" }
  | { do: "jump"; by: 1 | -1 }
  | { do: "step"; by: 1 | -1 }
  | { do: "end" }
  | { do: "begin" };

interface Pressed {
  key: string;
  shiftKey: boolean;
  ctrlKey: boolean;
  altKey: boolean;
  metaKey: boolean;
}

/** Space plays, arrows go some seconds, with Shift from action to action, Home and End to the ends. */
export function commandOf({ key, shiftKey, ctrlKey, altKey, metaKey }: Pressed): KeyCommand | null {
  if (ctrlKey || altKey || metaKey) return null;
  switch (key) {
    case " ":
      return { do: "toggle" };
    case "ArrowLeft":
      return { do: shiftKey ? "step" : "jump", by: -1 };
    case "ArrowRight":
      return { do: shiftKey ? "step" : "jump", by: 1 };
    case "Home":
      return { do: "begin" };
    case "End":
      return { do: "end" };
    default:
      return null;
  }
}

/** Elements that have a use for keys themselves: what they are pressed in, not the player. */
export const OWN_KEYS: Record<KeyCommand["do"], string> = {
  toggle:
    "button, a, input, textarea, select, summary, [role=tab], [role=option], [contenteditable]",
  jump: "input, textarea, select, [role=tab], [role=option], [contenteditable]",
  step: "input, textarea, select, [role=tab], [role=option], [contenteditable]",
  begin: "input, textarea, select, [role=tab], [role=option], [contenteditable], [data-scrolls]",
  end: "input, textarea, select, [role=tab], [role=option], [contenteditable], [data-scrolls]",
};
