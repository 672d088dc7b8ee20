import type { EventRow, JobRow } from "#hub/platform/db/rows.ts";
import { isoTime } from "#shared/kit/clock.ts";
import { hideCredentials } from "#shared/kit/hide-credentials.ts";
import type { FleetContext } from "../context.ts";

const PAGE = 500;

/** A page may log anything: none of its lines may look like two, or move a terminal's cursor. */
const oneLine = (text: string): string =>
  text.replace(/[\p{Cc}\u2028\u2029]/gu, (c) =>
    c === "\n" ? "\\n" : `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

function fieldText(fields: unknown): string {
  if (typeof fields !== "object" || fields === null) return "";
  return Object.entries(fields)
    .map(([key, value]) => ` ${key}=${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join("");
}

/** One line: number, seconds since the job was submitted, level, stage, message, fields. */
function logLine(event: EventRow, created_at: number): string {
  const seconds = ((event.ts - created_at) / 1000).toFixed(3);
  const head = `${String(event.seq).padStart(5)} ${`+${seconds}s`.padStart(10)}`;
  const { level, stage, message, fields, detail, status } = event.data;
  const text =
    event.type === "log"
      ? `${String(level).padEnd(5)} ${String(stage).padEnd(9)} ${message}${fieldText(fields)}`
      : event.type === "error"
        ? `error failed    ${detail}`
        : `info  done      ${status}`;
  return `${head}  ${oneLine(text)}\n`;
}

/** The job's log as text (log.txt), read from the stored events page by page, even while the job runs. */
export function logText(ctx: Pick<FleetContext, "db">, job: JobRow): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let last = 0;
  let over = false;
  return new ReadableStream<Uint8Array>({
    start: (out) => {
      const head = `# job ${job.job_id} ${hideCredentials(job.url)}\n# submitted ${isoTime(job.created_at)}\n`;
      out.enqueue(encoder.encode(oneLine(head).replaceAll("\\n", "\n")));
    },
    pull: async (out) => {
      if (over) return out.close();
      const page = await ctx.db.events.list(job.job_id, last, PAGE);
      last = page.at(-1)?.seq ?? last;
      over = page.length < PAGE;
      const text = page.map((event) => logLine(event, job.created_at)).join("");
      if (text !== "") out.enqueue(encoder.encode(text));
      else out.close();
    },
  });
}
