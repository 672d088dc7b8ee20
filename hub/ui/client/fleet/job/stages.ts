import type { Job, JobEvent } from "#shared/protocol/schema/job.ts";

export interface Stage {
  /** Unique within the job. */
  key: string;
  name: string;
  /** Milliseconds since the job was submitted. */
  from_ms: number;
  /** Null while it goes on. */
  until_ms: number | null;
  lines: number;
  /** The worst level of its lines. */
  worst: "info" | "warn" | "error";
  /** What it said last. */
  said: string;
}

const TITLES: Record<string, string> = {
  queued: "Waited in the queue",
  lane: "Browser made ready",
  navigate: "Page opened",
  wait: "Waited for the page",
  settle: "Page settled",
  scroll: "Scrolled",
  idle: "Network went quiet",
  recipe: "Recipe of the host",
  login: "Logged in",
  page: "Page saved",
  video: "Videos downloaded",
  upload: "Files stored",
  plan: "Script planned",
  check: "Script checked",
  run: "Script run",
  judge: "Result judged",
  offer: "Findings offered",
  done: "Finished",
  session: "Session kept open",
};

/** While it goes on. */
const GOING: Record<string, string> = {
  queued: "Waiting in the queue",
  lane: "Making the browser ready",
  navigate: "Opening the page",
  wait: "Waiting for the page",
  settle: "Letting the page settle",
  scroll: "Scrolling the page",
  idle: "Waiting for the network to go quiet",
  recipe: "Running the recipe of the host",
  login: "Logging in",
  page: "Saving the page",
  video: "Downloading videos",
  upload: "Storing the files",
  plan: "Planning the script",
  check: "Checking the script",
  run: "Running the script",
  judge: "Judging the result",
  offer: "Offering what was found",
  session: "Keeping the session open",
};

/** Where a job ended that did not come to its end. */
const WHERE: Record<string, string> = {
  queued: "while it waited in the queue",
  lane: "while its browser was prepared",
  navigate: "before the page was open",
  wait: "while it waited for the page",
  settle: "while it waited for the page",
  scroll: "while it scrolled the page",
  idle: "while it waited for the network",
  recipe: "in the recipe of the host",
  login: "while it logged in",
  page: "while the page was saved",
  video: "while videos were downloaded",
  upload: "while its files were stored",
  plan: "while its script was planned",
  check: "while its script was checked",
  run: "while its script ran",
  judge: "while the result was judged",
  offer: "after its script had run",
};

/** Follows "It failed": `before the page was open`; empty at the end. */
export const stageWhere = (name: string): string => WHERE[name] ?? "";

const plain = (name: string): string => name.replaceAll("_", " ");

export const stageTitle = (name: string): string => TITLES[name] ?? plain(name);

/** Of a stage that goes on: `Opening the page`. */
export const goingTitle = (name: string): string => GOING[name] ?? plain(name);

/**
 * What the job did, one after the other: lines of the same stage in a row are one, and a stage goes from the end of the
 * previous one to its own last line, because most are logged when they are over. A scripted job goes through some of
 * them again for each attempt.
 */
export function stagesOf(job: Job, events: readonly JobEvent[]): Stage[] {
  const start = Date.parse(job.created_at);
  const stages: Stage[] = [];
  let at = 0;
  for (const { seq, ts, type, data } of events) {
    if (type !== "log") continue;
    // A worker's clock is not the hub's.
    const now = Math.max(at, Date.parse(ts) - start);
    const name = data.stage === "assigned" ? "queued" : String(data.stage);
    const worst = worstOf(data.level, "info");
    let stage = stages.at(-1);
    if (stage?.name !== name) {
      stage = { key: String(seq), name, from_ms: at, until_ms: now, lines: 0, worst, said: "" };
      stages.push(stage);
    }
    stage.until_ms = now;
    stage.lines += 1;
    stage.said = String(data.message);
    stage.worst = worstOf(data.level, stage.worst);
    at = now;
  }
  const end = job.finished_at ? Math.max(at, Date.parse(job.finished_at) - start) : null;
  const going = job.status === "queued" ? "queued" : job.stage;
  const last = stages.at(-1);
  // The current stage has logged nothing yet; the last stage of an ended job logs no further line.
  if (last && (end !== null || going === null || last.name === going)) last.until_ms = end;
  else
    stages.push({
      key: "now",
      name: going ?? "queued",
      from_ms: at,
      until_ms: end,
      lines: 0,
      worst: "info",
      said: "",
    });
  return stages;
}

const RANK: Record<string, number> = { info: 0, warn: 1, error: 2 };
const worstOf = (level: unknown, before: Stage["worst"]): Stage["worst"] =>
  (level === "warn" || level === "error") && (RANK[level] ?? 0) > (RANK[before] ?? 0)
    ? level
    : before;
