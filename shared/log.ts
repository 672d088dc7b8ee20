/** JSON-lines logging: stable snake_case fields, past-tense message, never a secret or a body. */
export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];
export type LogFields = Record<string, unknown>;

export interface Log {
  debug(fields: LogFields, message: string): void;
  info(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  error(fields: LogFields, message: string): void;
  /** A logger that adds `fields` to every line. */
  child(fields: LogFields): Log;
}

const plain = (value: unknown): unknown =>
  value instanceof Error ? { name: value.name, message: value.message, stack: value.stack } : value;

export function createLog(
  level: LogLevel,
  write: (line: string) => void,
  bound: LogFields = {},
): Log {
  const at = (name: LogLevel) => (fields: LogFields, message: string) => {
    if (LOG_LEVELS.indexOf(name) < LOG_LEVELS.indexOf(level)) return;
    const line: LogFields = { ts: new Date().toISOString(), level: name, message, ...bound };
    for (const [key, value] of Object.entries(fields)) line[key] = plain(value);
    write(JSON.stringify(line));
  };
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    child: (fields) => createLog(level, write, { ...bound, ...fields }),
  };
}

/** Drops everything; for tests. */
export const silentLog: Log = createLog("error", () => {});
