import type { LogLevel } from "#shared/kit/log.ts";
import { moment } from "../client-call.ts";
import { paint } from "../colours.ts";
import { printable, type Terminal } from "../print.ts";

const COLOUR = { error: "red", warn: "yellow", info: "green", debug: "dim" } as const;

const isLevel = (word: string): word is LogLevel => Object.hasOwn(COLOUR, word);

const fieldText = ([name, value]: [string, unknown]): string =>
  `${name}=${typeof value === "string" && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value)}`;

/** A line of any log, as a person reads it: when, how bad, from where, what. */
export function logLine(
  terminal: Pick<Terminal, "colours">,
  {
    ts,
    level,
    source,
    message,
    fields = {},
  }: {
    ts: string;
    level: string;
    source: string;
    message: string;
    fields?: Record<string, unknown>;
  },
): string {
  const shown = level.toUpperCase().padEnd(5);
  const tag = terminal.colours && isLevel(level) ? paint(shown, COLOUR[level]) : printable(shown);
  const words = [source, message, ...Object.entries(fields).map(fieldText)].filter(Boolean);
  return `${moment(ts)} ${tag} ${printable(words.join("  "))}\n`;
}
