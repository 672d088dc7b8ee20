import type { AuditRow, DeployRow, IdempotencyRow, NewAuditRow, ServiceLogRow } from "./rows.ts";

/** A request for an Idempotency-Key: `owner` is the process, and `fingerprint` identifies the request. */
export interface KeyClaim {
  key: string;
  fingerprint: string;
  owner: string;
  /** Epoch ms. */
  now: number;
  /** Of the process' monotonic clock, by which leases go on SQLite; on Postgres they go by the database's. */
  monotonic: number;
  lease_ms: number;
}

export interface IdempotencyRepo {
  /**
   * Takes the key, leased for `lease_ms`; null when it was free, older than 24 h, or held for the same request by a
   * call that has lost its lease without an answer; else the row that holds it, and whether its lease is valid.
   */
  begin(claim: KeyClaim): Promise<(IdempotencyRow & { leased: boolean }) | null>;
  /** Renews the leases of these keys of `owner`, if they have no answer yet. */
  renew(keys: string[], owner: string, monotonic: number, lease_ms: number): Promise<void>;
  /** Only while the owner holds the key. */
  complete(
    key: string,
    owner: string,
    answer: NonNullable<IdempotencyRow["answer"]>,
  ): Promise<void>;
  /** Gives the key back after a call that stored nothing, but only while the owner holds it and it has no answer. */
  abandon(key: string, owner: string): Promise<void>;
  expire(created_before: number): Promise<number>;
}

/** What to look for; `before` is the last row of the previous page. Times are epoch ms. */
export interface LogFilter {
  host?: string | undefined;
  service?: string | undefined;
  min_level?: number | undefined;
  /** A text within the message or the fields, ignoring case. */
  q?: string | undefined;
  since?: number | undefined;
  until?: number | undefined;
  after?: number | undefined;
  before?: { ts: number; log_id: number } | undefined;
  limit: number;
}

/** Logs of hubs, control planes and workers (rules/pipeline-operations#service-logs). */
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
  /** The last row of the previous page. */
  before?: { at: number; audit_id: number } | undefined;
  limit: number;
}

/** The audit log: who changed what. */
export interface AuditRepo {
  append(rows: NewAuditRow[]): Promise<void>;
  /** Newest first by (at, audit_id). */
  list(filter: AuditFilter): Promise<AuditRow[]>;
  /** Deletes at most `limit` of the rows older than `at`, the oldest first; how many it deleted. */
  deleteBefore(at: number, limit: number): Promise<number>;
}

/**
 * Runs of the deploy command (rules/pipeline-operations#deploys), one at a time for all control planes of the database.
 */
export interface DeploysRepo {
  /** Null while another deploy runs. */
  begin(input: {
    target: string;
    args: string[];
    node: string;
    now: number;
  }): Promise<DeployRow | null>;
  /** Renames the node of the running deploy of `node`; false when that is not running any more. */
  rename(deploy_id: number, node: string, named: string): Promise<boolean>;
  /** Stores its output so far; false when it is not this node's running deploy any more. */
  beat(deploy_id: number, node: string, log: string, now: number): Promise<boolean>;
  /** Null when it is not this node's running deploy any more. */
  finish(
    deploy_id: number,
    node: string,
    end: Required<Pick<DeployRow, "outcome" | "exit_code" | "error" | "log">> & { now: number },
  ): Promise<DeployRow | null>;
  /** Ends a deploy whose process is gone, unless that has reported since `row` was read. */
  interrupt(
    row: Pick<DeployRow, "deploy_id" | "node" | "beat_at">,
    error: string,
    now: number,
  ): Promise<DeployRow | null>;
  running(): Promise<DeployRow | null>;
  /** Newest first; `before` limits them to lower ids. */
  list(limit: number, before?: number): Promise<DeployRow[]>;
  get(deploy_id: number): Promise<DeployRow | null>;
  /** Deletes all but the newest `keep`, but never the running one. */
  keepNewest(keep: number): Promise<void>;
}
