import type { FleetContext } from "../context.ts";

/** What functions of this room need that also run without links and sessions. */
export type RecordingsContext = Pick<
  FleetContext,
  "recordings" | "db" | "objects" | "clock" | "log"
>;

/** A run that is recorded: one attempt of a job, or a session. */
export interface Run {
  worker_id: string;
  /** Null for a session. */
  job_id: string | null;
  session_id: string;
  lease_token: number;
}

/** A job that is started again is another run; a session goes on under another lease when a job attaches to it. */
export const runIdOf = ({ job_id, session_id, lease_token }: Omit<Run, "worker_id">): string =>
  job_id === null ? `s-${session_id}` : `j-${job_id}-${lease_token}`;

/** A sealed part, by the place of its bytes. */
interface PartPlace {
  run_id: string;
  from: number;
  to: number;
}

export const recordingPrefix = (run_id: string): string => `recordings/${run_id}`;
/** Two hubs that seal different pieces write to different objects. */
export const partKey = ({ run_id, from, to }: PartPlace): string =>
  `${recordingPrefix(run_id)}/${from}-${to}`;
/** The part's frames of one kind alone: reading these must not read the pictures. */
export const eventsKey = (place: PartPlace): string => `${partKey(place)}.events`;
export const requestsKey = (place: PartPlace): string => `${partKey(place)}.requests`;

/** The sealed parts of a recording, in order. */
export const placesOf = (run_id: string, parts: readonly number[]): PartPlace[] =>
  parts.map((to, i) => ({ run_id, from: parts[i - 1] ?? 0, to }));
