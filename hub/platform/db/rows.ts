import type { Tables } from "#drizzle/tables.ts";

/** Rows as the database holds them: the wire's names, times in epoch milliseconds. */
export type JobRow = Tables["jobs"]["$inferSelect"];
export type WatchRow = Tables["watches"]["$inferSelect"];
export type PastSessionRow = Tables["sessions"]["$inferSelect"];
export type RecordingRow = Tables["recordings"]["$inferSelect"];
export type AssetRow = Tables["assets"]["$inferSelect"];
export type EventRow = Tables["job_events"]["$inferSelect"];
export type AttemptRow = Tables["attempts"]["$inferSelect"];
export type AccessTokenRow = Tables["access_tokens"]["$inferSelect"];
export type BrowserSessionRow = Tables["browser_sessions"]["$inferSelect"];
export type EngineRow = Tables["engines"]["$inferSelect"];
export type PresetRow = Tables["presets"]["$inferSelect"];
export type SkillRow = Tables["skills"]["$inferSelect"];
export type ConventionRow = Tables["conventions"]["$inferSelect"];
export type WorkerRow = Tables["workers"]["$inferSelect"];
export type HostRow = Tables["hosts"]["$inferSelect"];
export type PullWorkerRow = Tables["pull_workers"]["$inferSelect"];
export type WorkloadRow = Tables["workloads"]["$inferSelect"];
export type WorkloadVersionRow = Tables["workload_versions"]["$inferSelect"];
export type RunNotesRow = Tables["run_notes"]["$inferSelect"];

/**
 * `slug` is null when the workload was deleted; the streams are empty when nothing was printed, and `notes` is null
 * when the task reported nothing.
 */
export type RunRow = Tables["runs"]["$inferSelect"] & {
  slug: string | null;
  stdout: string;
  stderr: string;
  notes: Omit<RunNotesRow, "seq" | "updated_at"> | null;
};

export type TaskRow = Tables["tasks"]["$inferSelect"];
export type IdempotencyRow = Tables["idempotency_keys"]["$inferSelect"];
export type ProfileRow = Tables["profiles"]["$inferSelect"];
export type PluginStateRow = Tables["plugin_state"]["$inferSelect"];
export type PluginBlobRow = Tables["plugin_blobs"]["$inferSelect"];
export type SettingRow = Tables["settings"]["$inferSelect"];
export type ServiceLogRow = Tables["service_logs"]["$inferSelect"];
export type AuditRow = Tables["audit"]["$inferSelect"];

export type NewAuditRow = Omit<AuditRow, "audit_id">;

export type DeployRow = Tables["deploys"]["$inferSelect"];
export type AgentRow = Tables["agents"]["$inferSelect"];
export type SupervisedRow = Tables["supervised"]["$inferSelect"];
export type WorkerRestartRow = Tables["worker_restarts"]["$inferSelect"];

/** An attempt without its long texts. */
export type AttemptSummaryRow = Omit<
  AttemptRow,
  | "prompt"
  | "reply"
  | "script"
  | "stdout"
  | "stderr"
  | "result"
  | "error"
  | "screenshot"
  | "evidence"
>;
