import { jsonLine, type LogFormat, type LogFormatter, type LogLevel } from "#shared/kit/log.ts";

/** How a log line looks where it is written. */

/** The stream that the log is written to. */
export interface LogTarget {
  terminal: boolean;
  /** Whether the terminal shows colours. */
  colours: boolean;
  /** Whether systemd's journal reads it, which takes a line's priority from a leading `<N>` (sd-daemon(3)). */
  journal: boolean;
}

/** syslog(3): 3 error, 4 warning, 6 information, 7 debugging. */
const PRIORITY: Record<LogLevel, number> = { error: 3, warn: 4, info: 6, debug: 7 };
const COLOUR: Record<LogLevel, number> = { error: 31, warn: 33, info: 32, debug: 90 };

/** Every line of `text` with the priority in front: each becomes an entry of the journal. */
export const withPriority = (text: string, level: LogLevel): string =>
  text.replace(/^(?=.)/gm, `<${PRIORITY[level]}>`);

/** What pages and programs wrote must not steer the terminal: control characters except line feeds become `?`. */
const harmless = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are exactly what is removed
  text.replace(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g, "?");

/** An indented block below the line, so that nobody mistakes a field's content for a line of the log. */
const indented = (text: string): string => `\n${text.replace(/^/gm, "    ")}`;

const isError = (value: unknown): value is { name: string; message: string; stack?: string } =>
  typeof value === "object" && value !== null && "stack" in value && "message" in value;

const PLAIN = /^[^\s"=]+$/;

const valueText = (value: unknown): string => {
  if (typeof value === "string" && PLAIN.test(value)) return value;
  return JSON.stringify(value) ?? "undefined";
};

/** For people: time, level, message, `name=value`; stacks and other multi-line texts below. */
const humanLine =
  (colours: boolean): LogFormatter =>
  ({ ts, level, message, fields }) => {
    const words: string[] = [];
    const blocks: string[] = [];
    for (const [name, value] of Object.entries(fields)) {
      if (value === undefined) continue;
      if (isError(value)) {
        words.push(`${name}=${valueText(value.message)}`);
        if (value.stack) blocks.push(indented(value.stack));
      } else if (typeof value === "string" && value.trimEnd().includes("\n"))
        blocks.push(`\n  ${name}:${indented(value.trimEnd())}`);
      else words.push(`${name}=${valueText(value)}`);
    }
    const shown = level.toUpperCase().padEnd(5);
    const tag = colours ? `\u001b[${COLOUR[level]}m${shown}\u001b[0m` : shown;
    const first = harmless([message, ...words].join("  ")).replaceAll("\n", "?");
    return `${timeOf(ts)} ${tag} ${first}${harmless(blocks.join(""))}`;
  };

/** Local time of day, with milliseconds. */
const timeOf = (ts: Date): string =>
  `${ts.toTimeString().slice(0, 8)}.${String(ts.getMilliseconds()).padStart(3, "0")}`;

/** Formats the lines of a log that is written to `target`, in the requested format. */
export function lineFormat(format: LogFormat, target: LogTarget): LogFormatter {
  const human = format === "human" || (format === "auto" && target.terminal);
  const shape = human ? humanLine(target.colours) : jsonLine;
  if (!target.journal) return shape;
  return (line) => withPriority(shape(line), line.level);
}
