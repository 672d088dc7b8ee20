import type { Clock } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import type { JobLogEntry } from "#shared/protocol/schema/job.ts";

/** Writes the job's log: numbered lines with timings (rules/documents#log). Never throws, never blocks. */
export interface JobStory {
  log(
    level: JobLogEntry["level"],
    stage: string,
    message: string,
    fields?: Record<string, unknown>,
  ): void;
}

const BATCH_MS = 100;
const BATCH_LINES = 200;
/** Keeps a batch far below MAX_LINK_FRAME_BYTES, every character taken as three bytes. */
const BATCH_CHARS = 256 * 1024;
const MAX_STAGE = 64;
const MAX_MESSAGE = 8_192;
const MAX_FIELDS_CHARS = 16 * 1024;

/** Well-formed text of at most `max` characters; NUL is replaced because Postgres cannot store it. */
export function clip(text: string, max: number): string {
  const cut = text.length > max ? `${text.slice(0, max - 1)}…` : text;
  return cut.replaceAll("\0", "\ufffd").toWellFormed();
}

/** Plain JSON of `fields`; fields that cannot be sent are replaced by a note instead of an error. */
function plainFields(fields: Record<string, unknown>): {
  fields: Record<string, unknown>;
  chars: number;
} {
  try {
    const json = JSON.stringify(fields, (_key, value: unknown) =>
      typeof value === "string" ? clip(value, MAX_MESSAGE) : value,
    );
    if (json.length <= MAX_FIELDS_CHARS) return { fields: JSON.parse(json), chars: json.length };
    return { fields: { omitted: `${json.length} characters` }, chars: 40 };
  } catch (err) {
    return { fields: { omitted: clip(errorMessage(err), 200) }, chars: 240 };
  }
}

export interface BatchedStory extends JobStory {
  /** Sends what is left; later lines are dropped. */
  end(): void;
}

/**
 * Collects a job's log lines and hands them on in order, at most 100 ms old or 200 lines at a time, each within the
 * bounds of `JobLogEntry`.
 */
export function createStory(deps: {
  clock: Clock;
  send: (entries: JobLogEntry[]) => void;
}): BatchedStory {
  let batch: JobLogEntry[] = [];
  let chars = 0;
  let timer: AbortController | null = null;
  let ended = false;

  const flush = () => {
    timer?.abort();
    timer = null;
    if (batch.length === 0) return;
    const entries = batch;
    batch = [];
    chars = 0;
    deps.send(entries);
  };
  const flushSoon = () => {
    if (timer) return;
    const own = new AbortController();
    timer = own;
    void deps.clock.sleep(BATCH_MS, own.signal).then(() => {
      if (!own.signal.aborted) flush();
    });
  };

  return {
    log: (level, stage, message, fields = {}) => {
      if (ended) return;
      const plain = plainFields(fields);
      const line = clip(message, MAX_MESSAGE);
      batch.push({
        ts: deps.clock.now(),
        level,
        stage: clip(stage, MAX_STAGE),
        message: line,
        fields: plain.fields,
      });
      chars += line.length + plain.chars;
      if (batch.length >= BATCH_LINES || chars >= BATCH_CHARS) flush();
      else flushSoon();
    },
    end: () => {
      flush();
      ended = true;
    },
  };
}
