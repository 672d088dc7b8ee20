import { type ClientOptions, createHttp } from "./http.ts";
import { jobCalls } from "./jobs.ts";
import { conventionCalls, engineCalls, presetCalls, settingCalls, skillCalls } from "./library.ts";
import { fleetCalls, hostCalls, profileCalls } from "./registries.ts";
import { sessionCalls } from "./sessions.ts";
import { workloadCalls } from "./workloads.ts";

export type { Asset, LinkList } from "#shared/protocol/schema/asset.ts";
export type { Attempt, AttemptSummary } from "#shared/protocol/schema/attempt.ts";
export type { Convention } from "#shared/protocol/schema/convention.ts";
export type { SessionCookie, StoredCookie } from "#shared/protocol/schema/cookie.ts";
export type { Engine } from "#shared/protocol/schema/engine.ts";
export type { FleetSettings } from "#shared/protocol/schema/fleet-settings.ts";
export type { Host } from "#shared/protocol/schema/host.ts";
export type { Job, JobEvent, JobList, JobStatus } from "#shared/protocol/schema/job.ts";
export type { AgentResult, AgentStep, AskResult } from "#shared/protocol/schema/page-agent.ts";
export type { Preset } from "#shared/protocol/schema/preset.ts";
export type { Profile } from "#shared/protocol/schema/profile.ts";
export type {
  QueueCounts,
  QueueRow,
  Run,
  SubmitResult,
  TaskIn,
} from "#shared/protocol/schema/queue.ts";
export type { Recipe, RecipeAction } from "#shared/protocol/schema/recipe.ts";
export type { Session, SessionFile } from "#shared/protocol/schema/session.ts";
export type { Skill } from "#shared/protocol/schema/skill.ts";
export type { Worker } from "#shared/protocol/schema/worker.ts";
export type { Workload } from "#shared/protocol/schema/workload.ts";
export type { CdpTransport } from "./cdp-transport.ts";
export { FlotillaError } from "./errors.ts";
export type { EventOptions } from "./events.ts";
export type { CallOptions, ClientOptions } from "./http.ts";
export type { JobCalls, SubmitOptions, WaitOptions } from "./jobs.ts";
export type { OpenSession, Reply, SessionActions, SessionCalls } from "./sessions.ts";
export type { RunFilter, SubmitTasksOptions, WorkloadCalls } from "./workloads.ts";

/**
 * A client of a hub: `jobs`, `sessions`, `hosts`, `profiles`, `engines`, `presets`, `skills`, `conventions`, `settings`,
 * `fleet` and `workloads`. It needs nothing but Bun: the
 * schemas give it their types and are not loaded. Every call throws FlotillaError, has a deadline and takes an
 * AbortSignal.
 */
export function createClient(options: ClientOptions) {
  const http = createHttp(options);
  return {
    base_url: http.base_url,
    jobs: jobCalls(http),
    sessions: sessionCalls(http),
    hosts: hostCalls(http),
    profiles: profileCalls(http),
    engines: engineCalls(http),
    presets: presetCalls(http),
    skills: skillCalls(http),
    conventions: conventionCalls(http),
    settings: settingCalls(http),
    fleet: fleetCalls(http),
    workloads: workloadCalls(http),
  };
}

export type Client = ReturnType<typeof createClient>;
