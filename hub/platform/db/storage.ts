import type { AccessRepo } from "./access-types.ts";
import type { QueueOptions } from "./conn.ts";
import type { FiguresRepo } from "./figures.ts";
import type {
  AssetsRepo,
  AttemptsRepo,
  DocumentsRepo,
  EventsRepo,
  HostsRepo,
  JobProxiesRepo,
  JobsRepo,
  ProfilesRepo,
  SessionsRepo,
  WorkersRepo,
} from "./fleet-types.ts";
import type {
  ConventionsRepo,
  EnginesRepo,
  PresetsRepo,
  SettingsRepo,
  SkillsRepo,
} from "./library-types.ts";
import type {
  AgentsRepo,
  PluginsRepo,
  PullWorkersRepo,
  RunNotesRepo,
  RunsRepo,
  SupervisedRepo,
  TaskLabelsRepo,
  WorkerRestartsRepo,
  WorkloadsRepo,
  WorkloadVersionsRepo,
} from "./pipeline-types.ts";
import type { AuditRepo, DeploysRepo, IdempotencyRepo, ServiceLogsRepo } from "./platform-types.ts";
import type { QueueStore } from "./queue/queue-store.ts";
import type { RecordingsRepo } from "./recordings.ts";
import type { SavedListsRepo } from "./saved-lists.ts";
import type { SearchRepo } from "./search-types.ts";
import type { TriageRepo } from "./triage/triage-repo.ts";
import type {
  CpuMinutesRepo,
  FlowRepo,
  GpusRepo,
  RetentionRepo,
  SchedulesRepo,
  ViewsRepo,
} from "./view-types.ts";
import type { WatchesRepo } from "./watch-types.ts";

/**
 * The whole storage of a hub; opened by `openDb(url)`. Every call rejects with AppError unavailable (503) when the
 * database cannot be reached, does not answer in time, or its disk is full.
 */
export interface Db {
  dialect: "sqlite" | "postgres";
  jobs: JobsRepo;
  figures: FiguresRepo;
  sessions: SessionsRepo;
  recordings: RecordingsRepo;
  watches: WatchesRepo;
  assets: AssetsRepo;
  documents: DocumentsRepo;
  events: EventsRepo;
  attempts: AttemptsRepo;
  workers: WorkersRepo;
  settings: SettingsRepo;
  hosts: HostsRepo;
  idempotency: IdempotencyRepo;
  workloads: WorkloadsRepo;
  workload_versions: WorkloadVersionsRepo;
  runs: RunsRepo;
  run_notes: RunNotesRepo;
  task_labels: TaskLabelsRepo;
  search: SearchRepo;
  saved_lists: SavedListsRepo;
  views: ViewsRepo;
  triage: TriageRepo;
  flow: FlowRepo;
  gpus: GpusRepo;
  cpu_minutes: CpuMinutesRepo;
  schedules: SchedulesRepo;
  retention: RetentionRepo;
  pull_workers: PullWorkersRepo;
  agents: AgentsRepo;
  supervised: SupervisedRepo;
  worker_restarts: WorkerRestartsRepo;
  profiles: ProfilesRepo;
  plugins: PluginsRepo;
  service_logs: ServiceLogsRepo;
  audit: AuditRepo;
  deploys: DeploysRepo;
  engines: EnginesRepo;
  job_proxies: JobProxiesRepo;
  presets: PresetsRepo;
  skills: SkillsRepo;
  conventions: ConventionsRepo;
  access: AccessRepo;
  /** The workload pipeline's queue over the same database; closed with it. */
  openQueue(options: QueueOptions): QueueStore;
  /** Answers when the database does; rejects otherwise (for /health). */
  ping(): Promise<void>;
  /**
   * Removes earlier contents of settings and cookies from the database's own files; false, and nothing done, where more
   * than `max_bytes` must be rewritten. Other calls wait meanwhile.
   */
  scrub(max_bytes: number): Promise<boolean>;
  close(): Promise<void>;
}
