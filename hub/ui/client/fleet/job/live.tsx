import type { Job } from "#shared/protocol/schema/job.ts";
import { Viewer } from "../viewer/viewer.tsx";

/** The job's browser, live. */
export const Live = ({ job }: { job: Job }) =>
  job.session_id && <Viewer sid={job.session_id} height="70dvh" />;
