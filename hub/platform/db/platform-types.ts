import type { AuditRow, DeployRow, IdempotencyRow, NewAuditRow, ServiceLogRow } from "./rows.ts";

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
