import type { ConventionRow, EngineRow, PresetRow, SettingRow, SkillRow } from "./rows.ts";

/** A registry whose key is a slug. Every write is one statement. */
export interface SlugRepo<Row extends { slug: string }, Put = Row> {
  /** By slug. */
  list(): Promise<Row[]>;
  get(slug: string): Promise<Row | null>;
  /** Inserts or replaces; the stored row. */
  put(row: Put): Promise<Row>;
  /** False when there is none. */
  delete(slug: string): Promise<boolean>;
}

/** AI backends. A put leaves the promotion of an existing engine as it was. */
export interface EnginesRepo extends SlugRepo<EngineRow, Omit<EngineRow, "promoted">> {
  /** Makes it the only promoted one; null, and nothing changed, when there is no such engine. */
  promote(slug: string): Promise<EngineRow | null>;
}

/** `created_at` of an earlier one stays. */
export type PresetsRepo = SlugRepo<PresetRow>;

/** `created_at` of an earlier one stays. */
export interface SkillsRepo extends SlugRepo<SkillRow> {
  /** The fields that decide whether a skill is wanted, without its code; newest first. */
  patterns(): Promise<Pick<SkillRow, "slug" | "host_pattern" | "tags">[]>;
  /** Which of `slugs` exist, by slug. */
  find(slugs: string[]): Promise<SkillRow[]>;
}

/** `created_at` of an earlier one stays. */
export interface ConventionsRepo extends SlugRepo<ConventionRow> {
  /** By slug. */
  listEnabled(): Promise<ConventionRow[]>;
}

export interface SettingsRepo {
  /** null when it was never set. */
  get(key: string): Promise<unknown>;
  /** null unsets. */
  set(key: string, value: unknown, now: number): Promise<void>;
  /** Sets a value that was never set; false when there is one, which stays. */
  add(key: string, value: unknown, now: number): Promise<boolean>;
  /**
   * Replaces a value that was written at `was`; false when another write came first. `written_at` must be later than
   * `was`.
   */
  replace(key: string, value: unknown, at: { was: number; written_at: number }): Promise<boolean>;
  /** False when it was not set. */
  delete(key: string): Promise<boolean>;
  /** Those whose key begins with `prefix`. */
  list(prefix: string): Promise<SettingRow[]>;
  /** Which of `keys` are set. */
  find(keys: string[]): Promise<SettingRow[]>;
  /** Sets all of these in one transaction; null unsets. */
  setAll(values: Record<string, unknown>, now: number): Promise<void>;
}
