const CODES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const;
type Colour = keyof typeof CODES;

/** `text` in a colour of the terminal's own. */
export const paint = (text: string, colour: Colour): string =>
  `\u001b[${CODES[colour]}m${text}\u001b[0m`;

const WORDS: Record<Exclude<Colour, "bold">, readonly string[]> = {
  green: ["completed", "success", "active", "ok", "warm", "on", "yes"],
  red: ["failed", "error", "crashed", "timeout", "dead", "quarantined", "offline", "no"],
  yellow: ["queued", "pending", "drain", "draining", "standby", "paused", "off", "degraded"],
  cyan: ["running", "claimed"],
  dim: ["cancelled", "ended"],
};
const COLOUR_OF = new Map(
  Object.entries(WORDS).flatMap(([colour, words]) =>
    words.map((word) => [word, colour as Colour] as const),
  ),
);

/** A state in its colour: what is well in green, what is not in red; other words as they are. */
export function paintState(text: string): string {
  const colour = COLOUR_OF.get(text.trim());
  return colour === undefined ? text : paint(text, colour);
}

/** Whether a terminal is to show colours (https://no-color.org). */
export const wantsColours = (
  is_terminal: boolean,
  env: Readonly<Record<string, string | undefined>>,
): boolean => is_terminal && !env.NO_COLOR && env.TERM !== "dumb";
