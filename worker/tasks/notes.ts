import {
  LOG_LEVELS,
  type LogLine,
  MAX_LOG_LINE,
  MAX_LOG_LINES,
  MAX_PROGRESS_TEXT,
  type Progress,
  type ToldNotes,
} from "#shared/protocol/schema/executor.ts";

/** UTF-16 units of all lines together: those of every slot go out every two seconds. */
const MAX_LOG_TEXT = 32_768;

/** Notes of a running task: its last progress and the last lines of its log. */
export interface NotesTaker {
  /** Takes a `progress` or `log` frame from the task's runner; malformed frames are ignored. */
  take(frame: { type: string; [field: string]: unknown }): void;
  /** Null if it has reported nothing. */
  read(): ToldNotes | null;
}

const isLevel = (level: unknown): level is LogLine["level"] =>
  (LOG_LEVELS as readonly unknown[]).includes(level);

export function createNotesTaker(now: () => number = Date.now): NotesTaker {
  let seq = 0;
  let progress: Progress | null = null;
  const lines: LogLine[] = [];
  let text_length = 0;
  let dropped = 0;
  const add = (line: LogLine) => {
    lines.push(line);
    text_length += line.text.length;
    while (lines.length > MAX_LOG_LINES || (text_length > MAX_LOG_TEXT && lines.length > 1)) {
      text_length -= lines.shift()?.text.length ?? 0;
      dropped += 1;
    }
  };
  return {
    take: ({ type, value, text, level }) => {
      if (type === "progress") {
        if (typeof value !== "number" || !Number.isFinite(value)) return;
        const words = String(text ?? "").slice(0, MAX_PROGRESS_TEXT);
        progress = { value: Math.min(1, Math.max(0, value)), text: words };
      } else {
        const words = String(text ?? "").slice(0, MAX_LOG_LINE);
        const ts = new Date(now()).toISOString();
        add({ ts, level: isLevel(level) ? level : "info", text: words });
      }
      seq += 1;
    },
    read: () => (seq === 0 ? null : { progress, log: [...lines], log_dropped: dropped, seq }),
  };
}
