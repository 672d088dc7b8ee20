/** What a key does to the player. */
export type KeyCommand =
  | { do: "toggle" }
  | { do: "step"; by: 1 | -1 }
  | { do: "frame"; by: 1 | -1 }
  | { do: "nudge"; by: 1 | -1 }
  | { do: "error" }
  | { do: "end" }
  | { do: "begin" }
  | { do: "panel"; n: number }
  | { do: "pair" }
  | { do: "fill" }
  | { do: "copy" }
  | { do: "keys" };

interface Pressed {
  key: string;
  shiftKey: boolean;
  ctrlKey: boolean;
  altKey: boolean;
  metaKey: boolean;
}

const PLAIN: Record<string, KeyCommand> = {
  " ": { do: "toggle" },
  ",": { do: "nudge", by: -1 },
  ".": { do: "nudge", by: 1 },
  e: { do: "error" },
  b: { do: "pair" },
  f: { do: "fill" },
  c: { do: "copy" },
  Home: { do: "begin" },
  End: { do: "end" },
};
const PANELS = 5;

export function commandOf({ key, shiftKey, ctrlKey, altKey, metaKey }: Pressed): KeyCommand | null {
  if (ctrlKey || altKey || metaKey) return null;
  if (key === "?") return { do: "keys" };
  if (key === "ArrowLeft" || key === "ArrowRight")
    return { do: shiftKey ? "frame" : "step", by: key === "ArrowLeft" ? -1 : 1 };
  if (shiftKey) return null;
  const n = /^[1-9]$/.test(key) ? Number(key) : 0;
  if (n > 0) return n <= PANELS ? { do: "panel", n } : null;
  return PLAIN[key] ?? null;
}

const TYPED = "input:not([type=radio], [type=checkbox]), textarea, select, [contenteditable]";
const ARROWS = `input, ${TYPED}, [role=tab], [role=option], [role=separator], [role=radio], [role=menuitem]`;

/** Elements that have a use for keys themselves: what they are pressed in, not the player. */
export const OWN_KEYS: Record<KeyCommand["do"], string> = {
  toggle: `button, a, summary, input, [role=tab], [role=option], ${TYPED}`,
  step: ARROWS,
  frame: ARROWS,
  begin: `${ARROWS}, [data-scrolls]`,
  end: `${ARROWS}, [data-scrolls]`,
  nudge: TYPED,
  error: TYPED,
  panel: TYPED,
  pair: TYPED,
  fill: TYPED,
  copy: TYPED,
  keys: TYPED,
};

/** As the list of keys has them. */
export const KEY_NAMES: readonly { keys: string[]; what: string }[] = [
  { keys: ["Space"], what: "Play or pause" },
  { keys: ["←", "→"], what: "Action before, next action" },
  { keys: ["Shift ←", "Shift →"], what: "One picture of the film back, on" },
  { keys: [",", "."], what: "0.1 s back, on" },
  { keys: ["E"], what: "Next error" },
  { keys: ["Home", "End"], what: "Beginning, end" },
  { keys: ["1", "–", "5"], what: "Panel" },
  { keys: ["B"], what: "Before and after the action" },
  { keys: ["F"], what: "Full screen" },
  { keys: ["C"], what: "Copy a link to the moment" },
  { keys: ["[", "]"], what: "Fold a side" },
  { keys: ["?"], what: "These keys" },
];
