import type { z } from "zod";
import type { SESSION_ACTIONS } from "#shared/protocol/actions/session-actions.ts";
import type { JobResult as JobResultSchema } from "#shared/protocol/schema/asset.ts";
import type { PutConvention } from "#shared/protocol/schema/convention.ts";
import type { StoredCookie as StoredCookieSchema } from "#shared/protocol/schema/cookie.ts";
import type { PutEngine } from "#shared/protocol/schema/engine.ts";
import type {
  FailureQuery as FailureQuerySchema,
  FailureSelection as FailureSelectionSchema,
  JobFailureQuery as JobFailureQuerySchema,
  JobSelection as JobSelectionSchema,
  TaskSelection as TaskSelectionSchema,
} from "#shared/protocol/schema/failure.ts";
import type { Health as HealthSchema } from "#shared/protocol/schema/health.ts";
import type { PutHost } from "#shared/protocol/schema/host.ts";
import type { JobListQuery as JobListQuerySchema, SubmitJob } from "#shared/protocol/schema/job.ts";
import type { ONE_SHOTS } from "#shared/protocol/schema/one-shot.ts";
import type { PutPreset } from "#shared/protocol/schema/preset.ts";
import type {
  QUEUE_STATES,
  QueuePeek as QueuePeekSchema,
  TaskIn as TaskInSchema,
} from "#shared/protocol/schema/queue.ts";
import type {
  LoginRecipe as LoginRecipeSchema,
  Recipe as RecipeSchema,
} from "#shared/protocol/schema/recipe.ts";
import type {
  CreateSession,
  NetworkLog as NetworkLogSchema,
} from "#shared/protocol/schema/session.ts";
import type { PutSkill } from "#shared/protocol/schema/skill.ts";
import type { PatchWatch, PutWatch } from "#shared/protocol/schema/watch.ts";
import type {
  CheckDraft,
  WorkloadCreate,
  WorkloadUpdate,
} from "#shared/protocol/schema/workload.ts";
import type { ExportRecording } from "#shared/recording/record.ts";

/**
 * What the client takes and returns: the only place where it uses the schemas, of which it needs just the types. The
 * package has these written out (`scripts/build-client.ts`), so that it depends on nothing.
 */

export type { JobDocument } from "#shared/protocol/documents.ts";
export type { Asset, LinkList } from "#shared/protocol/schema/asset.ts";
export type { Attempt, AttemptSummary, TokenUsage } from "#shared/protocol/schema/attempt.ts";
export type { JobComparison } from "#shared/protocol/schema/comparison.ts";
export type { Convention } from "#shared/protocol/schema/convention.ts";
export type { SessionCookie, StoredCookie } from "#shared/protocol/schema/cookie.ts";
export type { Engine } from "#shared/protocol/schema/engine.ts";
export type { ExecutorCheck } from "#shared/protocol/schema/executor.ts";
export type {
  FailureGroup,
  FailureList,
  JobChangesMade,
  JobFailureGroup,
  JobFailureList,
  TaskChanges,
} from "#shared/protocol/schema/failure.ts";
export type { FigureRange, Figures } from "#shared/protocol/schema/figures.ts";
export type { FleetSettings } from "#shared/protocol/schema/fleet-settings.ts";
export type { Har } from "#shared/protocol/schema/har.ts";
export type { Host } from "#shared/protocol/schema/host.ts";
export type {
  Job,
  JobEvent,
  JobList,
  JobStatus,
} from "#shared/protocol/schema/job.ts";
/** Without its labels, which are written otherwise than they are read. */
export type JobListQuery = Omit<JobListQuerySchema, "label">;
export type { LabelChanges } from "#shared/protocol/schema/labels.ts";
export type {
  AgentMove,
  AgentResult,
  AgentStep,
  AskResult,
} from "#shared/protocol/schema/page-agent.ts";
export type { Preset } from "#shared/protocol/schema/preset.ts";
export type { Profile } from "#shared/protocol/schema/profile.ts";
export type {
  QueueCounts,
  QueueRow,
  Run,
  SubmitResult,
  TaskIn,
  TaskStatus,
} from "#shared/protocol/schema/queue.ts";
export type { Recipe, RecipeAction } from "#shared/protocol/schema/recipe.ts";
export type { RecordedInput } from "#shared/protocol/schema/recorded-input.ts";
export type { SavedList } from "#shared/protocol/schema/saved-list.ts";
export type { SearchHit, SearchResult } from "#shared/protocol/schema/search.ts";
export type {
  ActionReply,
  PastSession,
  ScreenshotRequest,
  Session,
  SessionFile,
} from "#shared/protocol/schema/session.ts";
export type { Skill, SkillListQuery } from "#shared/protocol/schema/skill.ts";
export type { ImportResult } from "#shared/protocol/schema/task-import.ts";
export type { Watch } from "#shared/protocol/schema/watch.ts";
export type { Worker, WorkerStatus } from "#shared/protocol/schema/worker.ts";
export type { Workload } from "#shared/protocol/schema/workload.ts";
export type {
  WorkloadVersion,
  WorkloadVersionCode,
} from "#shared/protocol/schema/workload-code.ts";
export type { Recording, RecordingExport, VideoFormat } from "#shared/recording/record.ts";

export type Health = z.infer<typeof HealthSchema>;
export type JobResult = z.infer<typeof JobResultSchema>;
export type NetworkLog = z.infer<typeof NetworkLogSchema>;
export type QueuePeek = z.infer<typeof QueuePeekSchema>;
export type QueueState = (typeof QUEUE_STATES)[number];

/** In requests, fields with a default may be left out. */
export type ExportRecordingInput = z.input<typeof ExportRecording>;
export type CreateSessionInput = z.input<typeof CreateSession>;
/** Bodies of the calls that open a page and answer what is in it. */
export type OneShotInputs = { [K in keyof typeof ONE_SHOTS]: z.input<(typeof ONE_SHOTS)[K]> };
export type { OneShotAnswers } from "#shared/protocol/schema/one-shot.ts";
export type FailureQuery = Partial<z.output<typeof FailureQuerySchema>>;
export type JobFailureQuery = Partial<z.output<typeof JobFailureQuerySchema>>;
export type FailureSelection = z.input<typeof FailureSelectionSchema>;
export type JobSelection = z.input<typeof JobSelectionSchema>;
export type TaskSelection = z.input<typeof TaskSelectionSchema>;
export type LoginRecipeInput = z.input<typeof LoginRecipeSchema>;
export type PutConventionInput = z.input<typeof PutConvention>;
export type PutEngineInput = z.input<typeof PutEngine>;
export type PutHostInput = z.input<typeof PutHost>;
export type PutPresetInput = z.input<typeof PutPreset>;
export type PutSkillInput = z.input<typeof PutSkill>;
export type PutWatchInput = z.input<typeof PutWatch>;
export type PatchWatchInput = z.input<typeof PatchWatch>;
export type RecipeInput = z.input<typeof RecipeSchema>;
export type StoredCookieInput = z.input<typeof StoredCookieSchema>;
export type SubmitJobInput = z.input<typeof SubmitJob>;
export type TaskInput = z.input<typeof TaskInSchema>;
export type CheckDraftInput = z.input<typeof CheckDraft>;
export type WorkloadCreateInput = z.input<typeof WorkloadCreate>;
export type WorkloadUpdateInput = z.input<typeof WorkloadUpdate>;

/** What each action answers as `result`. */
export type SessionActionResults = {
  [A in keyof typeof SESSION_ACTIONS]: z.infer<(typeof SESSION_ACTIONS)[A]["result"]>;
};
/** What each action of a session takes. */
export type SessionActionInputs = {
  [A in keyof typeof SESSION_ACTIONS]: z.input<(typeof SESSION_ACTIONS)[A]["args"]>;
};
