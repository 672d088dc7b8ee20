/**
 * Shared short-lived state (rules/storage#which-state-lives-where): worker registrations, hub registry, session map,
 * preview frames. Values are JSON. Every key expires. Calls reject when the store does not answer within its own
 * deadline.
 */
export interface Kv {
  get<T>(key: string): Promise<T | null>;
  set(key: string, value: unknown, ttl_ms: number): Promise<void>;
  /** Sets only when the key does not exist; true when it did. */
  setIfAbsent(key: string, value: unknown, ttl_ms: number): Promise<boolean>;
  /**
   * Sets the key while it does not exist, or while its value, an object, has these fields; true when it did. This is
   * one step for all hubs: what another one has put there since stays.
   */
  setIf(
    key: string,
    fields: Readonly<Record<string, string>>,
    value: unknown,
    ttl_ms: number,
  ): Promise<boolean>;
  /** Extends the expiry of an existing key; false when it is gone. */
  touch(key: string, ttl_ms: number): Promise<boolean>;
  delete(key: string): Promise<void>;
  /**
   * Deletes the key only while its value, an object, has these fields; true when it did. This is one step for all hubs.
   */
  deleteIf(key: string, fields: Readonly<Record<string, string>>): Promise<boolean>;
  /** Every live entry whose key starts with `prefix`, sorted by key. The prefix names one kind: `<kind>:` or longer. */
  list<T>(prefix: string): Promise<{ key: string; value: T }[]>;
  close(): Promise<void>;
}

/** Keys are `<kind>:<id>`: what stands before the first colon. */
export const kindOf = (key: string): string => key.split(":", 1)[0] ?? "";

/** @throws when a prefix may span several kinds: no store lists everything it holds. */
export function listedKind(prefix: string): string {
  if (!prefix.includes(":")) throw new Error(`a list of keys needs a kind: ${prefix}`);
  return kindOf(prefix);
}
