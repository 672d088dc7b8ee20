import { failureCalls } from "./failures.ts";
import { savedListCalls, searchCalls } from "./find.ts";
import { type ClientOptions, createHttp } from "./http.ts";
import { jobCalls } from "./jobs.ts";
import { conventionCalls, engineCalls, presetCalls, settingCalls, skillCalls } from "./library.ts";
import { pageCalls } from "./pages.ts";
import { fleetCalls, hostCalls, profileCalls } from "./registries.ts";
import { sessionCalls } from "./sessions.ts";
import { watchCalls } from "./watches.ts";
import { workloadCalls } from "./workloads.ts";

export type { CdpTransport } from "./cdp-transport.ts";
export type {
  AgentMove,
  AgentResult,
  AgentStep,
  AskResult,
  Asset,
  Attempt,
  AttemptSummary,
  Convention,
  CreateSessionInput,
  Engine,
  ExecutorCheck,
  FailureGroup,
  FailureList,
  FailureQuery,
  FailureSelection,
  FigureRange,
  Figures,
  FleetSettings,
  Host,
  ImportResult,
  Job,
  JobChangesMade,
  JobEvent,
  JobFailureGroup,
  JobFailureList,
  JobFailureQuery,
  JobList,
  JobSelection,
  JobStatus,
  LinkList,
  OneShotAnswers,
  OneShotInputs,
  PastSession,
  Preset,
  Profile,
  QueueCounts,
  QueueRow,
  Recipe,
  RecipeAction,
  Run,
  SavedList,
  SearchHit,
  SearchResult,
  Session,
  SessionCookie,
  SessionFile,
  Skill,
  StoredCookie,
  SubmitJobInput,
  SubmitResult,
  TaskChanges,
  TaskIn,
  TaskInput,
  TaskSelection,
  TaskStatus,
  TokenUsage,
  Watch,
  Worker,
  Workload,
  WorkloadCreateInput,
  WorkloadUpdateInput,
  WorkloadVersion,
  WorkloadVersionCode,
} from "./client-types.ts";
export { FlotillaError, type Issue } from "./errors.ts";
export type { EventOptions } from "./events.ts";
export type { MoveTo, TaskAction } from "./failures.ts";
export type { CallOptions, ClientOptions } from "./http.ts";
export type { JobCalls, SubmitOptions, WaitOptions } from "./jobs.ts";
export type { PageCalls, PageOptions } from "./pages.ts";
export type { OpenSession, Reply, SessionActions, SessionCalls } from "./sessions.ts";
export type { ImportTasksOptions } from "./workload-code.ts";
export type {
  RunFilter,
  SubmitTasksOptions,
  WorkloadCalls,
} from "./workloads.ts";

/**
 * A client of a hub: `jobs`, `sessions`, `pages`, `hosts`, `profiles`, `engines`, `presets`, `skills`, `conventions`, `watches`, `settings`,
 * `fleet`, `workloads`, `failures`, `search` and `saved_lists`. It runs in Bun, in Node from version 20.3 on and in browsers, and
 * has no dependencies. Every call throws FlotillaError, has a deadline and takes an AbortSignal.
 */
export function createClient(options: ClientOptions) {
  const http = createHttp(options);
  return {
    base_url: http.base_url,
    jobs: jobCalls(http),
    sessions: sessionCalls(http),
    pages: pageCalls(http),
    hosts: hostCalls(http),
    profiles: profileCalls(http),
    engines: engineCalls(http),
    presets: presetCalls(http),
    skills: skillCalls(http),
    conventions: conventionCalls(http),
    watches: watchCalls(http),
    search: searchCalls(http),
    saved_lists: savedListCalls(http),
    settings: settingCalls(http),
    fleet: fleetCalls(http),
    workloads: workloadCalls(http),
    failures: failureCalls(http),
  };
}

export type Client = ReturnType<typeof createClient>;
