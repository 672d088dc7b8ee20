/** Translates X keysyms, which RFB uses for keys, into DOM keys. */

export interface Key {
  key: string;
  code: string;
  /** Windows virtual key code, which pages still read as keyCode. */
  vk: number;
  /** The text it types; empty for keys that type nothing. */
  text: string;
}

/** Bits of Input.dispatchKeyEvent's `modifiers`. */
export const MODIFIER: Record<string, number> = { Alt: 1, Control: 2, Meta: 4, Shift: 8 };

const NAMED: Record<number, [key: string, code: string, vk: number, text?: string]> = {
  65288: ["Backspace", "Backspace", 8],
  65289: ["Tab", "Tab", 9],
  65293: ["Enter", "Enter", 13, "\r"],
  65299: ["Pause", "Pause", 19],
  65300: ["ScrollLock", "ScrollLock", 145],
  65307: ["Escape", "Escape", 27],
  65360: ["Home", "Home", 36],
  65361: ["ArrowLeft", "ArrowLeft", 37],
  65362: ["ArrowUp", "ArrowUp", 38],
  65363: ["ArrowRight", "ArrowRight", 39],
  65364: ["ArrowDown", "ArrowDown", 40],
  65365: ["PageUp", "PageUp", 33],
  65366: ["PageDown", "PageDown", 34],
  65367: ["End", "End", 35],
  65377: ["PrintScreen", "PrintScreen", 44],
  65379: ["Insert", "Insert", 45],
  65383: ["ContextMenu", "ContextMenu", 93],
  65407: ["NumLock", "NumLock", 144],
  65421: ["Enter", "NumpadEnter", 13, "\r"],
  65429: ["Home", "Numpad7", 36],
  65430: ["ArrowLeft", "Numpad4", 37],
  65431: ["ArrowUp", "Numpad8", 38],
  65432: ["ArrowRight", "Numpad6", 39],
  65433: ["ArrowDown", "Numpad2", 40],
  65434: ["PageUp", "Numpad9", 33],
  65435: ["PageDown", "Numpad3", 34],
  65436: ["End", "Numpad1", 35],
  65438: ["Insert", "Numpad0", 45],
  65439: ["Delete", "NumpadDecimal", 46],
  65450: ["*", "NumpadMultiply", 106, "*"],
  65451: ["+", "NumpadAdd", 107, "+"],
  65453: ["-", "NumpadSubtract", 109, "-"],
  65454: [".", "NumpadDecimal", 110, "."],
  65455: ["/", "NumpadDivide", 111, "/"],
  65505: ["Shift", "ShiftLeft", 16],
  65506: ["Shift", "ShiftRight", 16],
  65507: ["Control", "ControlLeft", 17],
  65508: ["Control", "ControlRight", 17],
  65509: ["CapsLock", "CapsLock", 20],
  65511: ["Meta", "MetaLeft", 91],
  65512: ["Meta", "MetaRight", 92],
  65513: ["Alt", "AltLeft", 18],
  65514: ["Alt", "AltRight", 18],
  65515: ["Meta", "MetaLeft", 91],
  65516: ["Meta", "MetaRight", 92],
  65027: ["AltGraph", "AltRight", 225],
  65056: ["Tab", "Tab", 9],
  65535: ["Delete", "Delete", 46],
};

/** Keys of a US keyboard other than letters and digits: what they type without and with Shift. */
const SYMBOLS: Record<string, [code: string, vk: number]> = {
  "`~": ["Backquote", 192],
  "-_": ["Minus", 189],
  "=+": ["Equal", 187],
  "[{": ["BracketLeft", 219],
  "]}": ["BracketRight", 221],
  "\\|": ["Backslash", 220],
  ";:": ["Semicolon", 186],
  "'\"": ["Quote", 222],
  ",<": ["Comma", 188],
  ".>": ["Period", 190],
  "/?": ["Slash", 191],
};
const SHIFTED_DIGITS = ")!@#$%^&*(";

const byCharacter = new Map<string, [code: string, vk: number]>([[" ", ["Space", 32]]]);
for (const [characters, place] of Object.entries(SYMBOLS))
  for (const character of characters) byCharacter.set(character, place);
for (let digit = 0; digit <= 9; digit += 1)
  for (const character of [String(digit), SHIFTED_DIGITS[digit] as string])
    byCharacter.set(character, [`Digit${digit}`, 48 + digit]);
for (const letter of "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
  for (const character of [letter, letter.toLowerCase()])
    byCharacter.set(character, [`Key${letter}`, letter.charCodeAt(0)]);

function characterOf(keysym: number): string | null {
  if ((keysym >= 0x20 && keysym <= 0x7e) || (keysym >= 0xa0 && keysym <= 0xff))
    return String.fromCharCode(keysym);
  const point = keysym - 0x0100_0000;
  return point >= 0x20 && point <= 0x10_ffff && !(point >= 0xd800 && point <= 0xdfff)
    ? String.fromCodePoint(point)
    : null;
}

/** Null for a keysym that is not a DOM key. */
export function keyOf(keysym: number): Key | null {
  const named = NAMED[keysym];
  if (named) {
    const [key, code, vk, text = ""] = named;
    return { key, code, vk, text };
  }
  // F1 … F12
  if (keysym >= 0xffbe && keysym <= 0xffc9) {
    const n = keysym - 0xffbe;
    return { key: `F${n + 1}`, code: `F${n + 1}`, vk: 112 + n, text: "" };
  }
  // Digits on the number pad.
  if (keysym >= 0xffb0 && keysym <= 0xffb9) {
    const n = keysym - 0xffb0;
    return { key: String(n), code: `Numpad${n}`, vk: 96 + n, text: String(n) };
  }
  const character = characterOf(keysym);
  if (character === null) return null;
  const [code, vk] = byCharacter.get(character) ?? ["", 0];
  return { key: character, code, vk, text: character };
}
