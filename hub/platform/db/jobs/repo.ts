import type { Conn } from "../conn.ts";
import type { JobsRepo } from "../fleet-types.ts";
import { batchedStatements } from "./batch.ts";
import { endedJobs } from "./ended.ts";
import { indexWords } from "./index-words.ts";
import { insertWith } from "./insert-with.ts";
import { replaceLabels } from "./labels.ts";
import { leasedJobs } from "./lease.ts";
import { countJobs, listJobs } from "./list.ts";
import { jobQueue } from "./queue.ts";
import { runningJobs } from "./running.ts";
import { singleStatements } from "./statements.ts";

export function jobsRepo(conn: Conn): JobsRepo {
  const singles = singleStatements(conn);
  const statements = conn.dialect === "postgres" ? batchedStatements(conn, singles) : singles;
  return {
    insert: statements.insert,
    insertWith: insertWith(conn),
    get: statements.get,
    list: listJobs(conn),
    count: countJobs(conn),
    replaceLabels: replaceLabels(conn),
    indexWords: () => indexWords(conn),
    ...jobQueue(conn),
    ...leasedJobs(conn, statements),
    ...runningJobs(conn),
    ...endedJobs(conn),
  };
}
