import type { Conn } from "../conn.ts";
import { failedJobs } from "./jobs.ts";
import { failedRuns } from "./runs.ts";
import { foundTasks } from "./tasks.ts";
import type { TriageRepo } from "./triage-repo.ts";

/** Failures in groups, and the tasks that are acted on together. Every call reads a bounded number of rows. */
export const triageRepo = (conn: Conn): TriageRepo => ({
  ...failedRuns(conn),
  ...foundTasks(conn),
  ...failedJobs(conn),
});
