import type { Tables } from "#drizzle/tables.ts";
import type { ProxyOption } from "#shared/protocol/proxy.ts";
import type { ToldNotes } from "#shared/protocol/schema/executor.ts";
import type { JobListQuery } from "#shared/protocol/schema/job.ts";
import type { WorkerStatus } from "#shared/protocol/schema/worker.ts";
import type { AccessRepo } from "./access-types.ts";
import type { QueueOptions } from "./conn.ts";
import type {
  ConventionsRepo,
  EnginesRepo,
  PresetsRepo,
  SettingsRepo,
  SkillsRepo,
} from "./library-types.ts";
import type { QueueStore } from "./queue/types.ts";
import type {
  AgentRow,
  AssetRow,
  AttemptRow,
  AttemptSummaryRow,
  AuditRow,
  DeployRow,
  EventRow,
  HostRow,
  IdempotencyRow,
  JobRow,
  NewAuditRow,
  PluginBlobRow,
  PluginStateRow,
  ProfileRow,
  PullWorkerRow,
  RunNotesRow,
  RunRow,
  ServiceLogRow,
  SupervisedRow,
  TaskRow,
  WorkerRestartRow,
  WorkerRow,
  WorkloadRow,
} from "./rows.ts";
import type { FlowRepo, GpusRepo, RetentionRepo, SchedulesRepo, ViewsRepo } from "./view-types.ts";

/** What a claim writes on the row (rules/jobs#two-hubs-and-one-job). */
export interface ClaimJob {
  job_id: string;
  worker_id: string;
  lane_idx: number;
  session_id: string;
  novnc_url: string;
  lease_token: number;
  /** Of the hub that claims it, and leads it from now on. */
  hub_id: string;
  now: number;
}

/** What ends a job. */
export interface FinishJob {
  status: "completed" | "failed" | "cancelled";
  error: string | null;
  now: number;
  stage?: string | null;
  http_status?: number | null;
  final_url?: string | null;
  title?: string | null;
  capture?: JobRow["capture"];
}

/** What is stored together with a new job. */
export interface JobCompany {
  key: { key: string; owner: string; answer: NonNullable<IdempotencyRow["answer"]> } | null;
  /** Of a job that runs a script: its first attempt, which holds the script. */
  attempt: AttemptRow | null;
}

/**
 * Job storage. Every write of `status` is one conditional statement that returns the row it changed, or null when it
 * lost the race; callers never read and then write.
 */
export interface JobsRepo {
  insert(row: JobRow): Promise<void>;
  /**
   * Stores the job with what belongs to it, in one transaction: the answer of its Idempotency-Key, so that no crash makes a
   * second job of the same call, and the script it is to run. False, and nothing stored, when the key has an answer already, is
   * gone, or another process has taken it over.
   */
  insertWith(row: JobRow, also: JobCompany): Promise<boolean>;
  get(job_id: string): Promise<JobRow | null>;
  /** Newest first by (created_at, job_id), one more than `limit` is never returned. `before` is the last row of the page before. */
  list(
    filter: Omit<JobListQuery, "cursor">,
    before: { created_at: number; job_id: string } | null,
  ): Promise<JobRow[]>;
  /** queued and unassigned → running. */
  claim(input: ClaimJob): Promise<JobRow | null>;
  /** running under this lease → queued, unassigned (the assignment was not delivered). */
  unclaim(job_id: string, lease_token: number): Promise<JobRow | null>;
  /** running under this lease → terminal. What `end` leaves undefined stays; the lease stays on the row. */
  finish(job_id: string, lease_token: number, end: FinishJob): Promise<JobRow | null>;
  /** queued and unassigned → terminal (cancel, queue timeout). */
  finishQueued(job_id: string, end: FinishJob): Promise<JobRow | null>;
  /** Every running job of this worker → failed; the rows it changed. */
  failRunningOf(worker_id: string, error: string, now: number): Promise<JobRow[]>;
  /** running under this lease → led by this hub from now on; null when it has ended, or runs under another lease. */
  takeUp(job_id: string, lease_token: number, hub_id: string): Promise<JobRow | null>;
  /** Running jobs under one of these leases → failed, unless another hub leads them by now; the rows it changed. */
  failRunningUnder(
    leases: { hub_id: string; worker_id: string; tokens: number[] },
    error: string,
    now: number,
  ): Promise<JobRow[]>;
  /** Every running job, but for those of the workers in `except` → failed (hub start, no other hub alive). */
  failAllRunning(error: string, now: number, except?: string[]): Promise<JobRow[]>;
  /** Running jobs created at or before `created_before`, oldest first (reconciler). */
  runningBefore(created_before: number, limit: number): Promise<JobRow[]>;
  /** Those of these jobs that run, with the lease they run under; in any order. */
  runningAmong(job_ids: string[]): Promise<{ job_id: string; lease_token: number | null }[]>;
  /**
   * Oldest queued, unassigned jobs created at or before `created_before`; scripted ones of them only those created at or
   * before `scripted_before`, when it is given.
   */
  oldestQueued(
    created_before: number,
    limit: number,
    modes?: QueuedModes,
    scripted_before?: number,
  ): Promise<JobRow[]>;
  /** Names the stage of a queued job that has none; true for the one caller who did. */
  markQueued(job_id: string, stage: string): Promise<boolean>;
  /** Scripted jobs that run, at whichever hub. */
  runningScripts(): Promise<number>;
  /** 1 for the next one to run; null when the job is not queued. */
  queuePosition(job_id: string): Promise<number | null>;
  setStage(job_id: string, lease_token: number, stage: string): Promise<void>;
  /**
   * Jobs that have ended, oldest first by `created_at`, at most `limit`: before `ended_before` when it is given, and only
   * those with assets when `with_assets`.
   */
  oldestEnded(filter: {
    ended_before?: number;
    with_assets?: boolean;
    limit: number;
  }): Promise<Pick<JobRow, "job_id" | "created_at" | "asset_bytes">[]>;
  /** Bytes of the assets of all jobs. */
  assetBytes(): Promise<number>;
  /** Deletes the row with its assets and events when it is terminal; false when it is not, or not there. */
  deleteTerminal(job_id: string): Promise<boolean>;
}

/** Which queued jobs are asked for; scripted ones are of mode codegen-loop or rerun. */
export type QueuedModes = "all" | "fetch" | "scripted";

/** An asset before the repository gave it its place. */
export type NewAsset = Omit<AssetRow, "position">;

export interface AssetsRepo {
  /** Inserts or replaces (job_id, name) while the job's lease is `lease_token`, and brings the job's asset_count and
   * asset_bytes up to date, in one transaction; false when the lease is another's. `position` is given by the repo. */
  put(row: NewAsset, lease_token: number): Promise<boolean>;
  /** As `put`, for several assets of one job: all of them or, when the lease is another's, none. */
  putMany(job_id: string, rows: NewAsset[], lease_token: number): Promise<boolean>;
  list(job_id: string): Promise<AssetRow[]>;
  get(job_id: string, name: string): Promise<AssetRow | null>;
  /** Those of `names` that are there, in any order. */
  find(job_id: string, names: string[]): Promise<AssetRow[]>;
}

export interface EventsRepo {
  /**
   * Appends in order and gives each its seq (1, 2, … within the job); concurrent appends never share a seq, and those of
   * one process are stored in the order of the calls. Nothing is stored, and [] returned, when there is no such job.
   */
  append(job_id: string, events: Pick<EventRow, "ts" | "type" | "data">[]): Promise<EventRow[]>;
  /** Events with seq > since, in order, at most `limit`. */
  list(job_id: string, since: number, limit: number): Promise<EventRow[]>;
  /** The newest events of the job, the last one first, at most `limit`. */
  last(job_id: string, limit: number): Promise<EventRow[]>;
}

/** Attempts of codegen-loop and rerun jobs (rules/scripts#attempts); deleted with their job. */
export interface AttemptsRepo {
  /** Inserts or replaces the attempt and sets the job's count to its `n`; false, and nothing written, when the lease is another's. */
  begin(row: AttemptRow, lease_token: number): Promise<boolean>;
  /** Replaces everything of an attempt that is there; false when it is not. */
  save(row: AttemptRow): Promise<boolean>;
  /** Ends the attempt that is open, if there is one: its job has ended. */
  endOpen(job_id: string, verdict: NonNullable<AttemptRow["verdict"]>, now: number): Promise<void>;
  /** In order. */
  list(job_id: string): Promise<AttemptSummaryRow[]>;
  get(job_id: string, n: number): Promise<AttemptRow | null>;
  /** Those that have a script, the last one first. */
  scripted(job_id: string): Promise<Pick<AttemptRow, "n" | "verdict">[]>;
}

export interface WorkersRepo {
  /** First sight inserts with status active; later ones keep the operator's status. The stored row. */
  seen(row: Omit<WorkerRow, "status" | "first_seen_at">): Promise<WorkerRow>;
  touch(worker_ids: string[], now: number): Promise<void>;
  setStatus(worker_id: string, status: WorkerStatus): Promise<WorkerRow | null>;
  get(worker_id: string): Promise<WorkerRow | null>;
  list(): Promise<WorkerRow[]>;
  delete(worker_id: string): Promise<boolean>;
}

/**
 * Host settings. Every write is one statement that returns the row as it is afterwards; the ones that add something make
 * the row when there is none. Cookies are told apart by (name, domain, path).
 */
export interface JobProxiesRepo {
  put(row: Tables["job_proxies"]["$inferSelect"]): Promise<void>;
  get(job_id: string): Promise<ProxyOption | null>;
  list(): Promise<Tables["job_proxies"]["$inferSelect"][]>;
  replace(job_id: string, proxy: ProxyOption): Promise<void>;
  /** Those of jobs that have ended or were never stored; how many. */
  forgetEnded(created_before: number): Promise<number>;
}

export interface HostsRepo {
  list(): Promise<HostRow[]>;
  get(host: string): Promise<HostRow | null>;
  /** Those of `hosts` that exist. */
  find(hosts: string[]): Promise<HostRow[]>;
  /** Replaces everything but the cookies, and the proxy where none is given. */
  put(row: Omit<HostRow, "cookies" | "proxy"> & Partial<Pick<HostRow, "proxy">>): Promise<HostRow>;
  /** Replaces the cookies; one with the value `masked` keeps its stored value, and is dropped when there is none. */
  putCookies(
    host: string,
    cookies: HostRow["cookies"],
    masked: string,
    now: number,
  ): Promise<HostRow>;
  /** Every proxy, with its text as it is stored. */
  proxies(): Promise<{ host: string; proxy: ProxyOption; raw: unknown }[]>;
  /** False when it is not `raw` any more. */
  exchangeProxy(host: string, raw: unknown, proxy: ProxyOption): Promise<boolean>;
  /** Null when the host has `max` recipes, or they would be longer than `max_chars` of JSON. */
  addRecipe(
    host: string,
    recipe: HostRow["recipes"][number],
    limits: { max: number; max_chars: number },
    now: number,
  ): Promise<HostRow | null>;
  /** Null when there is no such recipe. */
  removeRecipe(host: string, index: number, now: number): Promise<HostRow | null>;
  setLoginRecipe(
    host: string,
    login_recipe: NonNullable<HostRow["login_recipe"]>,
    now: number,
  ): Promise<HostRow>;
  /**
   * Adds or replaces cookies of several hosts in one transaction, and takes out what has expired; each host keeps the
   * newest `max`. @returns how many each has now.
   */
  mergeCookies(
    cookies: Record<string, HostRow["cookies"]>,
    max: number,
    now: number,
  ): Promise<Record<string, number>>;
  delete(host: string): Promise<boolean>;
  /** Of the hosts with cookies after `host` (null: from the first), the next ones by name; `raw` is the list as it is stored. */
  cookiesAfter(
    host: string | null,
    limit: number,
  ): Promise<{ host: string; cookies: HostRow["cookies"]; raw: unknown }[]>;
  /** Puts these cookies in the place of `raw`; false when others are stored by now. */
  exchangeCookies(host: string, raw: unknown, cookies: HostRow["cookies"]): Promise<boolean>;
}

/** Who wants an Idempotency-Key: `owner` is the process, and `fingerprint` tells one request from another. */
export interface KeyClaim {
  key: string;
  fingerprint: string;
  owner: string;
  /** Epoch ms. */
  now: number;
  lease_ms: number;
}

export interface IdempotencyRepo {
  /**
   * Takes the key, leased for `lease_ms`; null when it was free, older than 24 h, or of the same request whose call has lost
   * its lease without an answer; else the row that has it, and whether its lease holds.
   */
  begin(claim: KeyClaim): Promise<(IdempotencyRow & { leased: boolean }) | null>;
  /** Leases these keys of `owner` again, those that have no answer yet. */
  renew(keys: string[], owner: string, now: number, lease_ms: number): Promise<void>;
  /** Only while it is the owner's. */
  complete(
    key: string,
    owner: string,
    answer: NonNullable<IdempotencyRow["answer"]>,
  ): Promise<void>;
  /** Gives the key back after a call that stored nothing: only while it is the owner's and has no answer. */
  abandon(key: string, owner: string): Promise<void>;
  expire(created_before: number): Promise<number>;
}

export interface ProfilesRepo {
  /** Inserts or replaces under the name; `created_at` and `is_default` of an earlier one stay. The stored row. */
  put(row: Omit<ProfileRow, "is_default">): Promise<ProfileRow>;
  get(name: string): Promise<ProfileRow | null>;
  /** By name. */
  list(): Promise<ProfileRow[]>;
  getDefault(): Promise<ProfileRow | null>;
  /** Makes it the only default; null, and nothing changed, when there is no such profile. */
  setDefault(name: string): Promise<ProfileRow | null>;
  clearDefault(): Promise<void>;
  /** The row that was deleted, or null. */
  delete(name: string): Promise<ProfileRow | null>;
}

/** Workloads of the pipeline (rules/pipeline-workloads#fields-of-a-workload). */
export interface WorkloadsRepo {
  /** Null when the slug is taken. */
  insert(row: Omit<WorkloadRow, "workload_id">): Promise<WorkloadRow | null>;
  get(slug: string): Promise<WorkloadRow | null>;
  list(): Promise<WorkloadRow[]>;
  /**
   * `updated_at` is its version and rises with every update that gives one. Null when there is no such workload, or it is of
   * none of `versions`.
   */
  update(
    slug: string,
    set: Partial<WorkloadRow>,
    versions?: readonly number[],
  ): Promise<WorkloadRow | null>;
  /**
   * Its queue and counters are left to `RetentionRepo`, and its runs stay. False when a task is claimed and `force` is not
   * set, or it was gone.
   */
  delete(workload_id: number, force: boolean): Promise<boolean>;
}

export interface RunsRepo {
  /** Newest first. */
  list(filter: {
    workload_id?: number | undefined;
    before?: number | undefined;
    success?: boolean | undefined;
    pk?: string | undefined;
    /** As stored. */
    outcome?: number | undefined;
    worker_id?: string | undefined;
    /** Ended from here on, and before there. */
    since?: number | undefined;
    until?: number | undefined;
    /** Only runs from this one on: what bounds a search that no index serves. */
    from?: number | undefined;
    /** Without what they put out and printed. */
    brief?: boolean | undefined;
    limit: number;
  }): Promise<RunRow[]>;
  get(run_id: number): Promise<RunRow | null>;
  /** The oldest run with this id or a greater one. */
  at(run_id: number): Promise<{ run_id: number; finished_at: number } | null>;
  newest(): Promise<number | null>;
  /** The newest attempts of a task, newest first, without what they put out and printed. */
  ofTask(task_id: number, limit: number): Promise<RunRow[]>;
  /** The task with this key, while it is in the queue. */
  task(workload_id: number, pk: string): Promise<TaskRow | null>;
  /** Those of these tasks that are in the queue, in any order; `state` as stored. */
  taskStates(workload_id: number, pks: readonly string[]): Promise<Pick<TaskRow, "pk" | "state">[]>;
}

/** What tasks say of themselves while they run, by attempt. */
export interface RunNotesRepo {
  /** Takes the place of what was written of the attempt before, unless that has a greater `seq`. */
  write(
    items: readonly { task_id: number; epoch: number; notes: ToldNotes }[],
    updated_at: number,
  ): Promise<void>;
  of(refs: readonly { task_id: number; epoch: number }[]): Promise<RunNotesRow[]>;
  /** Deletes up to about `limit` that were last written before then; how many. */
  prune(before: number, limit: number): Promise<number>;
}

/** Pull workers of the pipeline as they last spoke. */
export interface PullWorkersRepo {
  /**
   * Null when another live process has the name: one that was heard since `dead_before`, or, on the same host, since
   * `dead_here_before`, and is not the one that is replaced. The operator's filter stays.
   */
  register(
    row: PullWorkerRow,
    over: { replaces: string | null; dead_before: number; dead_here_before: number },
  ): Promise<PullWorkerRow | null>;
  /** Null when this incarnation is not the registered one any more. */
  beat(
    worker_id: string,
    incarnation: string,
    set: Partial<PullWorkerRow>,
  ): Promise<PullWorkerRow | null>;
  /** The process ends: its name is free. False when it was not the registered one. */
  leave(worker_id: string, incarnation: string): Promise<boolean>;
  setFilter(worker_id: string, filter: string[] | null): Promise<PullWorkerRow | null>;
  /** Deletes those last heard before `plain_before`; one with a filter only before `filtered_before`. Their ids. */
  forget(before: { plain_before: number; filtered_before: number }): Promise<string[]>;
  get(worker_id: string): Promise<PullWorkerRow | null>;
  list(): Promise<PullWorkerRow[]>;
}

/** Agents of the hosts that run worker instances (rules/pipeline-agents#host-agents). */
export interface AgentsRepo {
  /** Stores a report; the first one of a host makes its row. Null when another agent speaks for the host and is alive. */
  sync(
    host: string,
    told: { agent_id: string | null; report: NonNullable<AgentRow["report"]>; now: number },
    dead_before: number,
  ): Promise<AgentRow | null>;
  /** Replaces what should run there while the revision is `revision`; null when somebody else was first. */
  setDesired(
    host: string,
    desired: AgentRow["desired"],
    revision: number,
  ): Promise<AgentRow | null>;
  /** Deletes hosts where nothing should run and whose agent was last heard before then; which. */
  forget(before: number): Promise<string[]>;
  get(host: string): Promise<AgentRow | null>;
  list(): Promise<AgentRow[]>;
}

/** Restarts of workers over SSH. */
export interface WorkerRestartsRepo {
  /**
   * Takes the right to restart it; null while another restart is under way, after `limit` in an hour, or when the last
   * one was begun after `idle_since`.
   */
  begin(
    worker_id: string,
    input: { now: number; busy_until: number; limit: number | null; idle_since: number | null },
  ): Promise<WorkerRestartRow | null>;
  /** Ends the restart that was begun with `busy_until`. */
  end(
    worker_id: string,
    busy_until: number,
    result: { exit_code: number | null; error: string | null },
  ): Promise<void>;
  get(worker_id: string): Promise<WorkerRestartRow | null>;
}

/** What the supervisor writes; `seq` is the repository's own. */
export type SupervisedChange = Partial<Omit<SupervisedRow, "workload_id" | "seq">>;

/** What the supervisor remembers of a workload. Every write names the row it was decided on and changes nothing else. */
export interface SupervisedRepo {
  /** The row, made when there is none. */
  open(workload_id: number): Promise<SupervisedRow>;
  get(workload_id: number): Promise<SupervisedRow | null>;
  /** Those with a problem or a pause. */
  troubled(): Promise<SupervisedRow[]>;
  /** Null when another control process was first, or the workload is not supervised any more. */
  change(of: SupervisedRow, set: SupervisedChange): Promise<SupervisedRow | null>;
  /** As `change`, and switches the workload off in the same transaction; false when either could not be. */
  pause(of: SupervisedRow, set: SupervisedChange, now: number): Promise<boolean>;
  /** Its runs after `after`, newest first, with the beginning of their errors. */
  outcomes(
    workload_id: number,
    after: number,
    limit: number,
  ): Promise<{ run_id: number; outcome: number; error: string | null; finished_at: number }[]>;
}

/** Keys that begin with `prefix`, by key, after the key `after`. */
export interface KeyPage {
  prefix: string;
  after: string | null;
  limit: number;
}

/** What plugins keep (rules/pipeline-plugins#state). `updated_at` of a state grows with every write and so names its version. */
export interface PluginsRepo {
  getState(slug: string, key: string): Promise<PluginStateRow | null>;
  listState(slug: string, page: KeyPage): Promise<Pick<PluginStateRow, "key" | "updated_at">[]>;
  /**
   * Stores a value. `expected`: only over this version; null: only when there is none; undefined: in any case.
   * The stored row, or null when `expected` is not what is there.
   */
  putState(
    row: { slug: string; key: string; value: unknown; updated_at: number },
    expected?: number | null,
  ): Promise<PluginStateRow | null>;
  deleteState(slug: string, key: string): Promise<boolean>;
  getBlob(slug: string, key: string): Promise<PluginBlobRow | null>;
  listBlobs(slug: string, page: KeyPage): Promise<PluginBlobRow[]>;
  /** @returns object_key of the blob it replaced, which nobody refers to any more. */
  putBlob(row: PluginBlobRow): Promise<string | null>;
  /** @returns object_key of the blob that was deleted, or null when there was none. */
  deleteBlob(slug: string, key: string): Promise<string | null>;
  /** object_key of every blob. */
  blobObjects(): Promise<string[]>;
}

/** What to look for; `before` is the last row of the page before. Times epoch ms. */
export interface LogFilter {
  host?: string | undefined;
  service?: string | undefined;
  min_level?: number | undefined;
  /** Within the message or the fields, whatever the case. */
  q?: string | undefined;
  since?: number | undefined;
  until?: number | undefined;
  after?: number | undefined;
  before?: { ts: number; log_id: number } | undefined;
  limit: number;
}

/** What hubs, control planes and workers tell of themselves (rules/pipeline-operations#service-logs). */
export interface ServiceLogsRepo {
  append(rows: Omit<ServiceLogRow, "log_id">[]): Promise<void>;
  /** Newest first by (ts, log_id). */
  list(filter: LogFilter): Promise<ServiceLogRow[]>;
  /** Deletes at most `limit` of the rows older than `ts`; how many it deleted. */
  deleteBefore(ts: number, limit: number): Promise<number>;
  /** Deletes at most `limit` of the rows beyond the newest `keep`; how many it deleted. */
  deleteBeyond(keep: number, limit: number): Promise<number>;
}

export interface AuditFilter {
  /** Kind, name or token of the caller, or its address. */
  who?: string | undefined;
  method?: string | undefined;
  route?: string | undefined;
  /** Both included. */
  status?: { from: number; to: number } | undefined;
  since?: number | undefined;
  until?: number | undefined;
  /** The last row of the page before. */
  before?: { at: number; audit_id: number } | undefined;
  limit: number;
}

/** Who changed what. */
export interface AuditRepo {
  append(rows: NewAuditRow[]): Promise<void>;
  /** Newest first by (at, audit_id). */
  list(filter: AuditFilter): Promise<AuditRow[]>;
  /** Deletes at most `limit` of the rows older than `at`, the oldest first; how many it deleted. */
  deleteBefore(at: number, limit: number): Promise<number>;
}

/** Runs of the deploy command (rules/pipeline-operations#deploys): one at a time over all control planes of the database. */
export interface DeploysRepo {
  /** Null while another one runs. */
  begin(input: {
    target: string;
    args: string[];
    node: string;
    now: number;
  }): Promise<DeployRow | null>;
  /** Gives the running deploy of `node` another name of its node; false when it is not its running one any more. */
  rename(deploy_id: number, node: string, named: string): Promise<boolean>;
  /** Stores what it printed so far; false when it is not this node's running one any more. */
  beat(deploy_id: number, node: string, log: string, now: number): Promise<boolean>;
  /** Null when it is not this node's running one any more. */
  finish(
    deploy_id: number,
    node: string,
    end: Required<Pick<DeployRow, "outcome" | "exit_code" | "error" | "log">> & { now: number },
  ): Promise<DeployRow | null>;
  /** Ends one whose process is gone, unless that has spoken since `row` was read. */
  interrupt(
    row: Pick<DeployRow, "deploy_id" | "node" | "beat_at">,
    error: string,
    now: number,
  ): Promise<DeployRow | null>;
  running(): Promise<DeployRow | null>;
  /** Newest first; `before`: only those with a lower id. */
  list(limit: number, before?: number): Promise<DeployRow[]>;
  get(deploy_id: number): Promise<DeployRow | null>;
  /** Deletes all but the newest `keep`, and never the one that runs. */
  keepNewest(keep: number): Promise<void>;
}

/**
 * The whole storage of a hub; opened by `openDb(url)`. Every call rejects with AppError unavailable (503) when the
 * database cannot be reached, does not answer in time, or its disk is full.
 */
export interface Db {
  dialect: "sqlite" | "postgres";
  jobs: JobsRepo;
  assets: AssetsRepo;
  events: EventsRepo;
  attempts: AttemptsRepo;
  workers: WorkersRepo;
  settings: SettingsRepo;
  hosts: HostsRepo;
  idempotency: IdempotencyRepo;
  workloads: WorkloadsRepo;
  runs: RunsRepo;
  run_notes: RunNotesRepo;
  views: ViewsRepo;
  flow: FlowRepo;
  gpus: GpusRepo;
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
   * Takes what rows of settings and cookies held before out of the database's own files; false, and nothing done, where
   * there are more than `max_bytes` to write anew. Other calls wait meanwhile.
   */
  scrub(max_bytes: number): Promise<boolean>;
  close(): Promise<void>;
}
