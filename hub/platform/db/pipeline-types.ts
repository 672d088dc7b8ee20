import type { LabelFilter } from "#shared/protocol/label-text.ts";
import type { ToldNotes } from "#shared/protocol/schema/executor.ts";
import type { Labels } from "#shared/protocol/schema/labels.ts";
import type {
  AgentRow,
  PluginBlobRow,
  PluginStateRow,
  PullWorkerRow,
  RunNotesRow,
  RunRow,
  SupervisedRow,
  TaskRow,
  WorkerRestartRow,
  WorkloadRow,
  WorkloadVersionRow,
} from "./rows.ts";

/** State of a plugin that belongs to one workload alone: every key that begins with the workload's slug and a slash. */
export interface OwnState {
  plugin: string;
  /** The slug. */
  workload: string;
}

/** Workloads of the pipeline (rules/pipeline-workloads#fields-of-a-workload). */
export interface WorkloadsRepo {
  /**
   * With its first version of code, if it has any, and without what an earlier one of its name left in `own`. Null when
   * the slug is taken.
   */
  insert(row: NewWorkload, code?: NewVersion, own?: OwnState): Promise<WorkloadRow | null>;
  get(slug: string): Promise<WorkloadRow | null>;
  list(): Promise<WorkloadRow[]>;
  /**
   * `updated_at` is its version and rises with every update that gives one. Null when there is no such workload, or its
   * version is none of `versions`.
   */
  update(
    slug: string,
    set: Partial<WorkloadRow>,
    versions?: readonly number[],
  ): Promise<WorkloadRow | null>;
  /** As `update`, with a new version of its code, which is made only when the settings are changed. */
  updateCode(
    slug: string,
    set: Partial<WorkloadRow> & { updated_at: number },
    code: NewVersion,
    versions?: readonly number[],
  ): Promise<WorkloadRow | null>;
  /**
   * With its own state. `RetentionRepo` deletes its queue and counters, and its runs stay. False when a task is claimed
   * and `force` is not set, or when it was gone.
   */
  delete(workload_id: number, force: boolean, own?: OwnState): Promise<boolean>;
}

type NewWorkload = Omit<WorkloadRow, "workload_id" | "code_version" | "code_sha256">;

/** `plugin_sha256`: its content hash as a plugin. */
export type NewVersion = Omit<WorkloadVersionRow, "workload_id" | "version"> & {
  plugin_sha256: string;
};

/** Versions of workloads' code (rules/pipeline-code#versions). */
export interface WorkloadVersionsRepo {
  /** Newest first, without their code; only those before `before`. */
  list(
    workload_id: number,
    page: { before: number | null; limit: number },
  ): Promise<Omit<WorkloadVersionRow, "code">[]>;
  get(workload_id: number, version: number): Promise<WorkloadVersionRow | null>;
  /** Deletes those up to this one. */
  prune(workload_id: number, up_to: number): Promise<void>;
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
    label?: LabelFilter[] | undefined;
    /** Ended from here on, and before there. */
    since?: number | undefined;
    until?: number | undefined;
    /** `unknown`: failures without one. */
    fingerprint?: string | undefined;
    /** Only runs from this one on, which bounds a search that no index serves. */
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
  /** Which of these tasks are in the queue, in any order; `state` as stored. */
  taskStates(workload_id: number, pks: readonly string[]): Promise<Pick<TaskRow, "pk" | "state">[]>;
}

/** Labels of tasks, which their runs show as well (rules/labels#labels-of-tasks). */
export interface TaskLabelsRepo {
  of(task_ids: readonly number[]): Promise<Map<number, Labels>>;
  /** Tasks of a workload that are in the queue and have every one of these labels, in the order of their ids. */
  tasks(filter: {
    workload_id: number;
    label: LabelFilter[];
    states: readonly number[];
    after: number;
    offset: number;
    limit: number;
  }): Promise<TaskRow[]>;
  /**
   * Looks at up to `limit` labelled tasks after `after`, and deletes the labels of those that neither the queue nor a run
   * knows; `last` is the last one looked at, null when there was none.
   */
  prune(after: number, limit: number): Promise<{ deleted: number; last: number | null }>;
}

/** Progress and log that tasks report while they run, by attempt. */
export interface RunNotesRepo {
  /** Replaces the attempt's earlier note, unless that has a greater `seq`. */
  write(
    items: readonly { task_id: number; epoch: number; notes: ToldNotes }[],
    updated_at: number,
  ): Promise<void>;
  of(refs: readonly { task_id: number; epoch: number }[]): Promise<RunNotesRow[]>;
  /** Deletes up to about `limit` that were last written before then; how many. */
  prune(before: number, limit: number): Promise<number>;
}

/** Pull workers of the pipeline, as they last reported. */
export interface PullWorkersRepo {
  /**
   * Null when another process has the name: one that has not said goodbye, is not the process to be replaced, and is not
   * `dead`, as it was read, or has been heard from since. The operator's filter stays.
   */
  register(
    row: PullWorkerRow,
    over: {
      replaces: string | null;
      dead: Pick<PullWorkerRow, "incarnation" | "last_heartbeat_at"> | null;
    },
  ): Promise<PullWorkerRow | null>;
  /** Null when this incarnation is not the registered one any more. */
  beat(
    worker_id: string,
    incarnation: string,
    set: Partial<PullWorkerRow>,
  ): Promise<PullWorkerRow | null>;
  /** The process ends, and its name is free. False when it was not the registered process. */
  leave(worker_id: string, incarnation: string): Promise<boolean>;
  setFilter(worker_id: string, filter: string[] | null): Promise<PullWorkerRow | null>;
  /** Deletes those last heard before `plain_before`; one with a filter only before `filtered_before`. Their ids. */
  forget(before: { plain_before: number; filtered_before: number }): Promise<string[]>;
  get(worker_id: string): Promise<PullWorkerRow | null>;
  list(): Promise<PullWorkerRow[]>;
}

/** Agents of the hosts that run worker instances (rules/pipeline-agents#host-agents). */
export interface AgentsRepo {
  /**
   * Stores a report; the first report of a host creates its row. Null when another agent speaks for the host: one that is
   * not `silent`, as it was read, or has been heard from since.
   */
  sync(
    host: string,
    told: { agent_id: string | null; report: NonNullable<AgentRow["report"]>; now: number },
    silent: Pick<AgentRow, "agent_id" | "last_seen_at"> | null,
  ): Promise<AgentRow | null>;
  /** Replaces what should run there if the revision is still `revision`; null when another writer was first. */
  setDesired(
    host: string,
    desired: AgentRow["desired"],
    revision: number,
  ): Promise<AgentRow | null>;
  /** Deletes hosts where nothing should run and whose agent was last heard before then; returns them. */
  forget(before: number): Promise<string[]>;
  get(host: string): Promise<AgentRow | null>;
  list(): Promise<AgentRow[]>;
}

/** Restarts of workers over SSH. */
export interface WorkerRestartsRepo {
  /**
   * Takes the right to restart the worker; null while another restart is under way, after `limit` restarts in an hour,
   * or if the last one began after `idle_since`.
   */
  begin(
    worker_id: string,
    input: { now: number; busy_until: number; limit: number | null; idle_since: number | null },
  ): Promise<WorkerRestartRow | null>;
  /** Ends the restart that began with `busy_until`. */
  end(
    worker_id: string,
    busy_until: number,
    result: { exit_code: number | null; error: string | null },
  ): Promise<void>;
  get(worker_id: string): Promise<WorkerRestartRow | null>;
}

/** What the supervisor writes; `seq` is the repository's own. */
export type SupervisedChange = Partial<Omit<SupervisedRow, "workload_id" | "seq">>;

/**
 * What the supervisor remembers of a workload. Every write names the row that it was decided on and changes no other.
 */
export interface SupervisedRepo {
  /** The row; created when there is none. */
  open(workload_id: number): Promise<SupervisedRow>;
  get(workload_id: number): Promise<SupervisedRow | null>;
  /** Those with a problem or a pause. */
  troubled(): Promise<SupervisedRow[]>;
  /** Null when another control process was first, or the workload is not supervised any more. */
  change(of: SupervisedRow, set: SupervisedChange): Promise<SupervisedRow | null>;
  /** As `change`, and switches the workload off in the same transaction; false when either could not be done. */
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

/**
 * What plugins keep (rules/pipeline-plugins#state). `updated_at` of a state grows with every write, so it names the
 * version.
 */
export interface PluginsRepo {
  getState(slug: string, key: string): Promise<PluginStateRow | null>;
  listState(slug: string, page: KeyPage): Promise<Pick<PluginStateRow, "key" | "updated_at">[]>;
  /**
   * Stores a value. `expected`: only over this version; null: only when there is none; undefined: always. Returns the
   * stored row, or null when `expected` does not match.
   */
  putState(
    row: { slug: string; key: string; value: unknown; updated_at: number },
    expected?: number | null,
  ): Promise<PluginStateRow | null>;
  deleteState(slug: string, key: string): Promise<boolean>;
  getBlob(slug: string, key: string): Promise<PluginBlobRow | null>;
  listBlobs(slug: string, page: KeyPage): Promise<PluginBlobRow[]>;
  /** @returns object_key of the replaced blob, which no row refers to any more. */
  putBlob(row: PluginBlobRow): Promise<string | null>;
  /** @returns object_key of the blob that was deleted, or null when there was none. */
  deleteBlob(slug: string, key: string): Promise<string | null>;
  /** object_key of every blob. */
  blobObjects(): Promise<string[]>;
}
