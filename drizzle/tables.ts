import type { ColumnKit } from "./kit.pg.ts";
import { defineAccessTables } from "./tables/access.ts";
import { defineAgentTables } from "./tables/agents.ts";
import { defineAutomationTables } from "./tables/automation.ts";
import { defineCounterTables } from "./tables/counters.ts";
import { defineFileTables } from "./tables/files.ts";
import { defineFindTables } from "./tables/find.ts";
import { defineJobPartTables } from "./tables/job-parts.ts";
import { defineJobs } from "./tables/jobs.ts";
import { defineKeyTables } from "./tables/keys.ts";
import { defineLibraryTables } from "./tables/library.ts";
import { defineOperationsTables } from "./tables/operations.ts";
import { definePluginTables } from "./tables/plugins.ts";
import { definePullWorkerTables } from "./tables/pull-workers.ts";
import { defineRegistryTables } from "./tables/registries.ts";
import { defineRunWordTables } from "./tables/run-words.ts";
import { defineRunTables } from "./tables/runs.ts";
import { defineSessionTables } from "./tables/sessions.ts";
import { defineTaskTables } from "./tables/tasks.ts";
import { defineVersionTables } from "./tables/versions.ts";
import { defineWatchTables } from "./tables/watches.ts";
import { defineWorkloadTables } from "./tables/workloads.ts";

/** The only definition of tables; `schema.pg.ts` and `schema.sqlite.ts` call it for their dialect. */
export function defineTables(c: ColumnKit) {
  const jobs = defineJobs(c);
  return {
    jobs,
    ...defineJobPartTables(c, jobs),
    ...defineFileTables(c, jobs),
    ...defineFindTables(c, jobs),
    ...defineSessionTables(c),
    ...defineWatchTables(c),
    ...defineRegistryTables(c),
    ...defineLibraryTables(c),
    ...defineWorkloadTables(c),
    ...defineVersionTables(c),
    ...defineAutomationTables(c),
    ...defineTaskTables(c),
    ...defineRunTables(c),
    ...defineRunWordTables(c),
    ...defineCounterTables(c),
    ...definePullWorkerTables(c),
    ...definePluginTables(c),
    ...defineAgentTables(c),
    ...defineOperationsTables(c),
    ...defineAccessTables(c),
    ...defineKeyTables(c),
  };
}

export type Tables = ReturnType<typeof defineTables>;
