import { useLocation } from "wouter";
import type { Job } from "#shared/protocol/schema/job.ts";
import { call } from "../../lib/http.ts";
import { jobHref, sessionHref } from "../../lib/links.ts";
import { useChange } from "../../lib/query.ts";
import type { Question } from "../../parts/confirm.tsx";
import { OPEN_MS } from "../session/new-session.ts";
import { optionsAgain, submitAgain } from "./again.ts";

const PICTURE_MS = 60_000;

/** Asked before a job is cancelled. */
export const CANCEL_JOB: Question = {
  question: "Cancel this job?",
  text: "Its browser is stopped. What it has stored so far is kept.",
  confirm: "Cancel the job",
};

/** Everything that the page of a job does to it. */
export function useJobActions(job: Job) {
  const [, navigate] = useLocation();
  const of = { params: { id: job.job_id } };
  const cancel = useChange(() => call("POST /jobs/{id}/cancel", of), {
    done: "The job is cancelled",
    failed: "The job was not cancelled",
  });
  const remove = useChange(() => call("DELETE /jobs/{id}", of), {
    done: "The job is deleted",
    failed: "The job was not deleted",
    onDone: () => navigate("/ui/captures"),
  });
  const rerun = useChange(() => submitAgain(job, optionsAgain(job)), {
    done: "A new job is submitted",
    failed: "The job was not run again",
    onDone: (job_id) => navigate(jobHref(job_id)),
  });
  const picture = useChange(
    () =>
      call("POST /jobs/{id}/screenshot/capture", {
        ...of,
        json: { format: "png" },
        timeout_ms: PICTURE_MS,
      }),
    {
      done: ({ name }) => `The screenshot is stored as ${name}`,
      failed: "No screenshot was taken",
    },
  );
  /** Opens a session that shows what the job has captured, for a person to click around in. */
  const replay = useChange(
    (url: string | null) =>
      call("POST /sessions", { json: { replay: job.job_id, url }, timeout_ms: OPEN_MS }),
    {
      failed: "The replay was not opened",
      onDone: ({ session_id }) => navigate(sessionHref(session_id)),
    },
  );
  return { cancel, remove, rerun, picture, replay };
}
