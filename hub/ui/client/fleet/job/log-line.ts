import type { JobEvent } from "#shared/protocol/schema/job.ts";

interface Line {
  seq: number;
  at: string;
  level: string;
  stage: string;
  text: string;
}

const fieldText = (fields: unknown): string =>
  typeof fields !== "object" || fields === null
    ? ""
    : Object.entries(fields)
        .map(
          ([key, value]) => ` ${key}=${typeof value === "string" ? value : JSON.stringify(value)}`,
        )
        .join("");

/** One event as a line: its last one says how the job ended. */
export function lineOf({ seq, ts, type, data }: JobEvent, start: number): Line {
  const at = `+${((Date.parse(ts) - start) / 1_000).toFixed(3)} s`;
  if (type === "error")
    return { seq, at, level: "error", stage: "failed", text: String(data.detail) };
  if (type === "done") return { seq, at, level: "info", stage: "done", text: String(data.status) };
  const text = `${data.message}${fieldText(data.fields)}`;
  return { seq, at, level: String(data.level), stage: String(data.stage), text };
}
