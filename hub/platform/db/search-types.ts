import type { LabelFilter } from "#shared/protocol/label-text.ts";
import type { JobRow, PastSessionRow, TaskRow } from "./rows.ts";

/** Tables that are searched by some of their texts. */
export type NamedTable =
  | "hosts"
  | "profiles"
  | "presets"
  | "skills"
  | "engines"
  | "watches"
  | "workers"
  | "pull_workers"
  | "agents";

/** A row of such a table: what it is called, and the texts that were searched. */
export interface NamedRow {
  id: string;
  title: string;
  detail: string;
  state: string | null;
  at: number | null;
}

export interface FoundTask extends Pick<TaskRow, "pk" | "state" | "created_at" | "last_error"> {
  slug: string;
}

export interface FoundRun {
  run_id: number;
  slug: string | null;
  pk: string;
  outcome: number;
  finished_at: number;
  error: string | null;
}

/** What a search reads; every call is bounded by an index or by a number of rows (rules/search#what-is-searched). */
export interface SearchRepo {
  jobsById(prefix: string, limit: number): Promise<JobRow[]>;
  /** By id, or by words of title, URL and who opened it. */
  sessions(q: string, limit: number): Promise<PastSessionRow[]>;
  /** Rows that have every word of the text somewhere in their names. */
  named(table: NamedTable, q: string, limit: number): Promise<NamedRow[]>;
  /** Tasks in the queue by the beginning of their key, or by a label. */
  tasks(q: string, label: LabelFilter | null, limit: number): Promise<FoundTask[]>;
  /** Runs by number, by the beginning of their key, by a label, or by words of their error. */
  runs(q: string, label: LabelFilter | null, limit: number): Promise<FoundRun[]>;
}
