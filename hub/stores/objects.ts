/** What the store knows of an object. `sha256` in lower-case hex, `size` in bytes. */
export interface ObjectInfo {
  size: number;
  sha256: string;
}

export interface PutOptions {
  /** Refuse a body whose hash or length differs; nothing stays behind. */
  sha256?: string;
  size?: number;
  /** Refuse a longer body with AppError too_large; nothing stays behind. */
  max_bytes?: number;
  signal?: AbortSignal;
  /** Called when the body is whole and verified, right before it becomes the object; rejects to leave nothing behind. */
  confirm?: () => Promise<void>;
}

/**
 * Asset bodies and other files. Keys are `/`-separated safe names. A put is all or nothing: a reader sees the whole new
 * object or what was there before, also after a crash.
 */
export interface ObjectStore {
  /** @throws AppError invalid when hash or size differ, too_large beyond max_bytes. */
  put(
    key: string,
    body: ReadableStream<Uint8Array> | Uint8Array,
    options?: PutOptions,
  ): Promise<ObjectInfo>;
  /** Size of the object, or null when there is none. */
  stat(key: string): Promise<{ size: number } | null>;
  /** Bytes `start..end` (both included) or all of it; null when there is no such object. */
  read(
    key: string,
    range?: { start: number; end: number },
  ): Promise<ReadableStream<Uint8Array> | null>;
  /**
   * The object as a file, when it lies on this machine: Bun sends a file with its length, a stream only in chunks.
   * Null when there is no such object; absent on stores elsewhere.
   */
  localFile?(key: string): Promise<Blob | null>;
  delete(key: string): Promise<void>;
  /** Deletes everything below `prefix/`. */
  deletePrefix(prefix: string): Promise<void>;
  /** Keys below `prefix/`, sorted. */
  list(prefix: string): Promise<string[]>;
  close(): Promise<void>;
}
