import type { Tables } from "#drizzle/tables.ts";
import type { StoredDocument } from "#shared/protocol/documents.ts";
import type { ProxyOption } from "#shared/protocol/proxy.ts";
import type { JobListQuery } from "#shared/protocol/schema/job.ts";
import type { WorkerStatus } from "#shared/protocol/schema/worker.ts";
import type {
  AssetRow,
  AttemptRow,
  AttemptSummaryRow,
  EventRow,
  HostRow,
  IdempotencyRow,
  JobRow,
  PastSessionRow,
  ProfileRow,
  WorkerRow,
} from "./rows.ts";

/** What a claim writes on the row (rules/jobs#two-hubs-and-one-job). */
interface ClaimJob {
  job_id: string;
  worker_id: string;
  lane_idx: number;
  session_id: string;
  novnc_url: string;
  lease_token: number;
  /** Id of the hub that claims the job and leads it from now on. */
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
  final_state?: JobRow["final_state"];
}

/** Jobs that somebody asks for; the filters narrow one another. */
export interface JobFilter extends Partial<Omit<JobListQuery, "cursor" | "limit">> {
  job_id?: string | undefined;
  /** In one of these states. */
  statuses?: readonly JobRow["status"][] | undefined;
  /** In the error. */
  text?: string | undefined;
  /** Only those that nobody has run again by a filter. */
  not_retried?: boolean | undefined;
}

/** Rows that are stored together with a new job. */
interface JobCompany {
  key: { key: string; owner: string; answer: NonNullable<IdempotencyRow["answer"]> } | null;
  /** Of a job that runs a script: its first attempt, which holds the script. */
  attempt: AttemptRow | null;
  /**
   * Of a capture: it becomes the one under way of its watch. `due_at` is the time that it is made for, which `next_at` then
   * replaces; null for one that somebody asked for.
   */
  watch?: { watch_id: string; due_at: number | null; next_at: number | null } | null;
  /** The job that it runs again, which then names it; there is no other. */
  retry_of?: string | null;
}

/**
 * Job storage. Every write of `status` is one conditional statement that returns the row it changed, or null when it
 * lost the race; callers never read and then write.
 */
export interface JobsRepo {
  insert(row: JobRow): Promise<void>;
  /**
   * Stores the job with what belongs to it, in one transaction: the answer of its Idempotency-Key, so that no crash makes a
   * second job of the same call, the script it is to run, the watch that it captures for, and the job that it runs again,
   * which nobody has run again before. False, and nothing stored, when
   * the key has an answer already, is gone, or another process has taken it over; or when its watch is not due, is gone or
   * has a capture under way.
   */
  insertWith(row: JobRow, also: JobCompany): Promise<boolean>;
  get(job_id: string): Promise<JobRow | null>;
  /** Newest first by (created_at, job_id), at most `limit`. `before` is the last row of the page before. */
  list(
    filter: JobFilter & { limit: number },
    before: { created_at: number; job_id: string } | null,
  ): Promise<JobRow[]>;
  /** How many jobs the filter matches; with a `limit` counted up to it. */
  count(filter: JobFilter & { limit?: number }): Promise<number>;
  /** Replaces the labels of the row; false when others were stored since it was read, or it is gone. */
  replaceLabels(
    row: Pick<JobRow, "job_id" | "created_at" | "labels">,
    labels: JobRow["labels"],
  ): Promise<boolean>;
  /** Indexes the words of ended jobs whose end only noted that this is due; `list` and `count` do so before they search. */
  indexWords(): Promise<void>;
  /** queued and unassigned → running. */
  claim(input: ClaimJob): Promise<JobRow | null>;
  /** running under this lease → queued, unassigned (the assignment was not delivered). */
  unclaim(job_id: string, lease_token: number): Promise<JobRow | null>;
  /** What the script of a job running under this lease answered. */
  setAnswer(
    job_id: string,
    lease_token: number,
    answer: NonNullable<JobRow["answer"]>,
  ): Promise<void>;
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
  /** Every running job except those of the workers in `except` → failed (hub start, no other hub alive). */
  failAllRunning(error: string, now: number, except?: string[]): Promise<JobRow[]>;
  /** Running jobs created at or before `created_before`, oldest first (reconciler). */
  runningBefore(created_before: number, limit: number): Promise<JobRow[]>;
  /** Which of these jobs run, with their leases; in any order. */
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
  /** Names the stage of a queued job that has none; true for the one caller that did. */
  markQueued(job_id: string, stage: string): Promise<boolean>;
  /** Running scripted jobs, at any hub. */
  runningScripts(): Promise<number>;
  /** 1 for the next one to run; null when the job is not queued. */
  queuePosition(job_id: string): Promise<number | null>;
  setStage(job_id: string, lease_token: number, stage: string): Promise<void>;
  /**
   * Jobs that have ended, oldest first by `created_at`, at most `limit`, each with the bytes of its files:
   * before `ended_before` when it is given, only those with files when `with_files`, and only those that come behind `after`. Those that a watch compares its next
   * capture with are left out.
   */
  oldestEnded(filter: {
    ended_before?: number | undefined;
    with_files?: boolean | undefined;
    after?: Pick<JobRow, "job_id" | "created_at"> | undefined;
    limit: number;
  }): Promise<(Pick<JobRow, "job_id" | "created_at"> & { file_bytes: number })[]>;
  /** Bytes of the assets and documents of all jobs. */
  fileBytes(): Promise<number>;
  /** How many jobs have ended. */
  endedCount(): Promise<number>;
  /** Deletes the row with its assets and events when it is terminal; false when it is not, or not there. */
  deleteTerminal(job_id: string): Promise<boolean>;
}

/** Which queued jobs are asked for; scripted ones are of mode codegen-loop or rerun. */
export type QueuedModes = "all" | "fetch" | "scripted";

/** An asset before the repository assigns its position. */
type NewAsset = Omit<AssetRow, "position">;

export interface AssetsRepo {
  /**
   * Inserts or replaces (job_id, name) while the job's lease is `lease_token`, and brings the job's asset_count and
   * asset_bytes up to date, in one transaction; false when the lease is another's. The repository assigns `position`.
   */
  put(row: NewAsset, lease_token: number): Promise<boolean>;
  /** As `put`, for several assets of one job: all of them or, when the lease is another's, none. */
  putMany(job_id: string, rows: NewAsset[], lease_token: number): Promise<boolean>;
  /** In the order they came; the first `limit` of them where one is given. */
  list(job_id: string, limit?: number): Promise<AssetRow[]>;
  get(job_id: string, name: string): Promise<AssetRow | null>;
  /** Which of `names` exist, in any order. */
  find(job_id: string, names: string[]): Promise<AssetRow[]>;
}

/** How large the documents of jobs are; the object store has them. */
export interface DocumentsRepo {
  /**
   * Notes the size of a document that was stored or replaced, and brings the job's document_bytes up to date, in one
   * transaction; false, and nothing noted, when there is no such job.
   */
  put(job_id: string, name: StoredDocument, size: number): Promise<boolean>;
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
  /** Replaces all of an existing attempt; false when there is none. */
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

/** Where a page of ended sessions ends. */
interface EndedPlace {
  ended_at: number;
  session_id: string;
}

interface EndedFilter {
  /** A part of the address or the title. */
  q?: string | undefined;
  worker_id?: string | undefined;
}

/** Sessions that were no job's own (rules/sessions#past-sessions). */
export interface SessionsRepo {
  /** The session is open: for the first time, or again at another hub, which leaves who opened it and what it counted. */
  open(row: Omit<PastSessionRow, "ended_at" | "end_reason" | "actions">): Promise<void>;
  get(session_id: string): Promise<PastSessionRow | null>;
  /** Adds to the number of its actions. */
  count(session_id: string, actions: number): Promise<void>;
  /** False when it had ended already, or was never recorded. `actions` are added to those that were counted before. */
  end(
    session_id: string,
    end: Pick<PastSessionRow, "ended_at" | "end_reason" | "url" | "title" | "actions">,
  ): Promise<boolean>;
  /** Those that nobody has said the end of, oldest first, opened before this time. */
  openBefore(created_before: number, limit: number): Promise<PastSessionRow[]>;
  /** The last to end first. */
  listEnded(
    limit: number,
    before: EndedPlace | null,
    filter?: EndedFilter,
  ): Promise<PastSessionRow[]>;
  /** When the session ended that as many as `n` ended after; null when there are no more than `n`. */
  endOfNth(n: number): Promise<number | null>;
  /** Deletes the first `limit` that ended at this time or before. @returns how many there were */
  deleteEnded(ended_by: number, limit: number): Promise<number>;
}

/**
 * Host settings. Every write is one statement that returns the row as it is afterwards; those that add something create
 * the row when there is none. Cookies are identified by (name, domain, path).
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
  /** Which of `hosts` exist. */
  find(hosts: string[]): Promise<HostRow[]>;
  /** Replaces everything but the cookies, and the proxy and the browser's options where none are given. */
  put(
    row: Omit<HostRow, "cookies" | "proxy" | "browser_options"> &
      Partial<Pick<HostRow, "proxy" | "browser_options">>,
  ): Promise<HostRow>;
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
  /** Null when the host has `max` recipes, or they would exceed `max_chars` of JSON. */
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
   * Adds or replaces cookies of several hosts in one transaction, and removes expired ones; each host keeps the newest
   * `max`.
   * @returns how many each has now.
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
  /** Replaces `raw` by these cookies; false when others are stored by now. */
  exchangeCookies(host: string, raw: unknown, cookies: HostRow["cookies"]): Promise<boolean>;
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
