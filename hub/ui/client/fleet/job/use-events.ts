import { useEffect, useState } from "react";
import type { JobEvent } from "#shared/protocol/schema/job.ts";
import { type FeedState, followEvents } from "./event-feed.ts";

export interface JobEvents {
  events: readonly JobEvent[];
  state: FeedState;
  /** How many of the oldest lines were left out, to keep the page light. */
  dropped: number;
}

const MOST = 50_000;
const NONE: JobEvents = { events: [], state: "connecting", dropped: 0 };

/** Every event of a job so far, growing while it runs. */
export function useJobEvents(job_id: string): JobEvents {
  const [all, setAll] = useState(NONE);
  useEffect(() => {
    const over = new AbortController();
    setAll(NONE);
    void followEvents({
      job_id,
      signal: over.signal,
      onState: (state) => setAll((before) => ({ ...before, state })),
      onEvents: (more) =>
        setAll(({ events, state, dropped }) => {
          const both = [...events, ...more];
          const too_many = Math.max(0, both.length - MOST);
          return { events: both.slice(too_many), state, dropped: dropped + too_many };
        }),
    });
    return () => over.abort();
  }, [job_id]);
  return all;
}
