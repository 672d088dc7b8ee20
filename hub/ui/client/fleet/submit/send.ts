import { useRef } from "react";
import { useLocation } from "wouter";
import type { Job } from "#shared/protocol/schema/job.ts";
import { ApiError, call, seg } from "../../lib/http.ts";
import { tellDone, useChange } from "../../lib/query.ts";
import { bodyOf, type Draft, newKey } from "./body.ts";

/** The hub waits for a lane before it answers. */
const TIMEOUT_MS = 60_000;

/** The job that a 503 speaks of: stored, and still queued (design: POST /jobs at capacity). */
function queuedJob(error: unknown): string | null {
  if (!(error instanceof ApiError) || error.status !== 503) return null;
  const { job_id } = (error.body ?? {}) as { job_id?: unknown };
  return typeof job_id === "string" ? job_id : null;
}

/** Submits and goes to the job's page. Sent again unchanged, when no answer came, it creates no second job. */
export function useSubmit() {
  const [, navigate] = useLocation();
  const last = useRef({ text: "", key: "" });
  const keyOf = (text: string) => {
    if (last.current.text !== text) last.current = { text, key: newKey() };
    return last.current.key;
  };
  return useChange(
    async (draft: Draft) => {
      const json = bodyOf(draft);
      const headers = { "idempotency-key": keyOf(JSON.stringify(json)) };
      try {
        const made = await call<Job>("POST", "/jobs", { json, headers, timeout_ms: TIMEOUT_MS });
        return made.job_id;
      } catch (err) {
        const job_id = queuedJob(err);
        if (job_id === null) throw err;
        tellDone("No lane is free now. The job waits in the queue.");
        return job_id;
      }
    },
    {
      failed: "The job was not submitted",
      quiet: true,
      onDone: (job_id) => navigate(`/ui/jobs/${seg(job_id)}`),
    },
  );
}
