import { FIRST_HTTP_ERROR } from "#shared/protocol/limits.ts";
import type { Job, WaitingFor } from "#shared/protocol/schema/job.ts";
import { jobLook } from "../../parts/status/job.ts";
import type { Tone } from "../../parts/status/look.ts";
import { adviceFor } from "./advice.ts";
import { goingTitle, stageWhere } from "./stages.ts";

/** What became of a job, for a person: the point of it, and what else there is to say. */
export interface Sentence {
  tone: Tone;
  point: string;
  more: string;
}

const sentenceOf = (text: string): string => {
  const said = text.trim();
  const whole = /[.!?…]$/.test(said) ? said : `${said}.`;
  return whole.charAt(0).toUpperCase() + whole.slice(1);
};

/** What a person can do about what the job waits for. */
const HELP: Partial<Record<WaitingFor["reason"], string>> = {
  stopping: "It starts when the next hub is running.",
  no_worker: "Start one with: flotilla worker. The job then starts by itself.",
  workers_paused: "Set one to active on the page Workers.",
  hub_disk_full: "It starts when there is room.",
  disk_full: "Make room on a worker's disk.",
  no_lane: "The worker's log says why its browsers do not start.",
};

function whyItWaits({ waiting_for }: Pick<Job, "waiting_for">): string {
  if (waiting_for === null) return "It starts by itself.";
  const { reason, detail } = waiting_for;
  return `${sentenceOf(detail)} ${HELP[reason] ?? "It starts by itself."}`;
}

function completed(job: Job): { point: string; more: string } {
  const { mode, http_status, changed, capture } = job;
  const [warning = ""] = capture?.warnings ?? [];
  const more = warning === "" ? "" : sentenceOf(warning);
  if (http_status !== null && http_status >= FIRST_HTTP_ERROR)
    return {
      point: `The page answered ${http_status}.`,
      more: `It was captured as it came. ${more}`,
    };
  if (changed) return { point: "The page has changed since the capture before.", more };
  if (mode === "codegen-loop") return { point: "The goal was reached.", more };
  return {
    point: mode === "rerun" ? "The script ran to its end." : "The page was captured.",
    more,
  };
}

const SENTENCE = /^(.+?[.:!?])\s+(.+)$/s;

function failed(error: string): { point: string; more: string } {
  const [, first = error, rest = ""] = SENTENCE.exec(error) ?? [];
  const point = sentenceOf(first.replace(/:$/, ""));
  return { point, more: [rest && sentenceOf(rest), adviceFor(error)].filter(Boolean).join(" ") };
}

/** @param waited how long it has waited, in words */
export function sentenceFor(job: Job, waited: string): Sentence {
  const { tone } = jobLook(job);
  const where = stageWhere(job.stage ?? "");
  switch (job.status) {
    case "queued": {
      const place = job.queue_position === null ? "" : ` Place ${job.queue_position} in the queue.`;
      return { tone, point: `Waiting for a browser for ${waited}.${place}`, more: whyItWaits(job) };
    }
    case "running":
      return { tone, point: "It is running.", more: `${goingTitle(job.stage ?? "lane")} …` };
    case "cancelled":
      return {
        tone,
        point: `It was cancelled${where && ` ${where}`}.`,
        more: job.error === null ? "" : sentenceOf(job.error),
      };
    case "failed":
      return { tone, ...failed(job.error ?? `It failed ${where}`) };
    case "completed":
      return { tone, ...completed(job) };
  }
}
