/** JSON-lines logging: stable snake_case fields, past-tense message, never a secret or a body. */
export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];
export type LogFields = Record<string, unknown>;

export interface Log {
  debug(fields: LogFields, message: string): void;
  info(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  error(fields: LogFields, message: string): void;
  /** Whether a line of this level is written: for fields that cost something to make. */
  writes(level: LogLevel): boolean;
  /** A logger that adds `fields` to every line. */
  child(fields: LogFields): Log;
}

/** Is given every line, whatever its level; must neither throw nor wait. */
export type LogSink = (level: LogLevel, fields: LogFields, message: string) => void;

/** A logger that tells `sink` too, with the fields of its children. */
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

export function createLog(
  level: LogLevel,
  write: (line: string) => void,
  bound: LogFields = {},
): Log {
  const writes = (name: LogLevel) => LOG_LEVELS.indexOf(name) >= LOG_LEVELS.indexOf(level);
  const at = (name: LogLevel) => (fields: LogFields, message: string) => {
    if (!writes(name)) return;
    const line: LogFields = { ts: new Date().toISOString(), level: name, message, ...bound };
    for (const [key, value] of Object.entries(fields)) line[key] = plainLogValue(value);
    write(JSON.stringify(line));
  };
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    writes,
    child: (fields) => createLog(level, write, { ...bound, ...fields }),
  };
}

/** Drops everything; for tests. */
export const silentLog: Log = createLog("error", () => {});
