import type { Terminal } from "./print.ts";

interface Stream {
  isTTY?: boolean;
  columns?: number;
  write(text: string): unknown;
}

/** The process's own streams as the client commands see them. */
export const systemTerminal = (stdout: Stream, stderr: Stream): Terminal => ({
  out: (text) => void stdout.write(text),
  err: (text) => void stderr.write(text),
  width: stdout.isTTY ? (stdout.columns ?? 80) : null,
  live: stderr.isTTY === true,
  liveWidth: stderr.columns ?? 80,
});
