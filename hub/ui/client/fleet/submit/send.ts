import { useRef } from "react";
import { refusalOf } from "#shared/client/errors.ts";
import { call } from "../../lib/http.ts";
import { tellDone } from "../../lib/query.ts";
import { type bodyOf, newKey } from "./body.ts";

/** The hub waits for a lane before it answers. */
const TIMEOUT_MS = 60_000;

/** Sent again unchanged, when no answer came, it creates no second job. @returns what gives the id of the job. */
export function useSend() {
  const last = useRef({ text: "", key: "" });
  const keyOf = (text: string) => {
    if (last.current.text !== text) last.current = { text, key: newKey() };
    return last.current.key;
  };
  return async (json: ReturnType<typeof bodyOf>): Promise<string> => {
    const headers = { "idempotency-key": keyOf(JSON.stringify(json)) };
    try {
      const made = await call("POST /jobs", { json, headers, timeout_ms: TIMEOUT_MS });
      return made.job_id;
    } catch (err) {
      // It is stored, and still queued (rules/jobs#at-capacity).
      const job_id = refusalOf(err, "POST /jobs", 503)?.job_id;
      if (!job_id) throw err;
      tellDone("No lane is free now. The job waits in the queue.");
      return job_id;
    }
  };
}
