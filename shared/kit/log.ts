/** Structured logging: stable snake_case fields, past-tense message, never a secret or a body. */
export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];
/** `auto`: human on a terminal, JSON elsewhere. */
export const LOG_FORMATS = ["auto", "human", "json"] as const;
export type LogFormat = (typeof LOG_FORMATS)[number];
export type LogFields = Record<string, unknown>;

export interface Log {
  debug(fields: LogFields, message: string): void;
  info(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  error(fields: LogFields, message: string): void;
  /** Whether a line of this level is written; ask before building fields that cost something. */
  writes(level: LogLevel): boolean;
  /** A logger that adds `fields` to every line. */
  child(fields: LogFields): Log;
}

/** Receives every line, whatever its level; must neither throw nor wait. */
export type LogSink = (level: LogLevel, fields: LogFields, message: string) => void;

/** A logger that also calls `sink`, with the fields of its children. */
export function withSink(log: Log, sink: LogSink, bound: LogFields = {}): Log {
  const at = (level: LogLevel) => (fields: LogFields, message: string) => {
    log[level](fields, message);
    sink(level, { ...bound, ...fields }, message);
  };
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    writes: (level) => log.writes(level),
    child: (fields) => withSink(log.child(fields), sink, { ...bound, ...fields }),
  };
}

export const plainLogValue = (value: unknown): unknown =>
  value instanceof Error ? { name: value.name, message: value.message, stack: value.stack } : value;

/** A line before it is text; `fields` are plain values. */
interface LogLine {
  ts: Date;
  level: LogLevel;
  message: string;
  fields: LogFields;
}

/** Formats a line, without the newline at its end. */
export type LogFormatter = (line: LogLine) => string;

export const jsonLine: LogFormatter = ({ ts, level, message, fields }) =>
  JSON.stringify({ ts: ts.toISOString(), level, message, ...fields });

/**
 * `level`: the lowest that is written; a function is called for every line. `within`: fields of what a line is written in the
 * course of, if it is anything.
 */
export function createLog(
  level: LogLevel | (() => LogLevel),
  write: (text: string) => void,
  format: LogFormatter = jsonLine,
  within?: () => LogFields | null,
): Log {
  const lowest = typeof level === "function" ? level : () => level;
  const writes = (name: LogLevel) => LOG_LEVELS.indexOf(name) >= LOG_LEVELS.indexOf(lowest());
  const withFields = (bound: LogFields): Log => {
    const at = (name: LogLevel) => (given: LogFields, message: string) => {
      if (!writes(name)) return;
      const fields: LogFields = { ...bound };
      for (const [key, value] of Object.entries(given)) fields[key] = plainLogValue(value);
      Object.assign(fields, within?.());
      write(format({ ts: new Date(), level: name, message, fields }));
    };
    return {
      debug: at("debug"),
      info: at("info"),
      warn: at("warn"),
      error: at("error"),
      writes,
      child: (fields) => withFields({ ...bound, ...fields }),
    };
  };
  return withFields({});
}

/** Drops everything; for tests. */
export const silentLog: Log = createLog("error", () => {});
