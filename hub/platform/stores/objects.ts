/** What the store knows of an object. `sha256` in lower-case hex, `size` in bytes. */
export interface ObjectInfo {
  size: number;
  sha256: string;
}

export interface PutOptions {
  /** Refuse a body whose hash or length differs, and leave nothing behind. */
  sha256?: string;
  size?: number;
  /** Refuse a longer body with AppError too_large, and leave nothing behind. */
  max_bytes?: number;
  signal?: AbortSignal;
  /** Called when the body is whole and verified, right before it becomes the object; rejects to leave nothing behind. */
  confirm?: () => Promise<void>;
}

/** An object of a few hundred KB in memory, with its expected hash and length. */
export interface SmallObject extends ObjectInfo {
  key: string;
  body: Uint8Array;
}

export type PutResult = ObjectInfo | { error: unknown };

/**
 * Asset bodies and other files. Keys are `/`-separated safe names. A put is all or nothing: a reader sees the whole new
 * object or the old one, even after a crash.
 */
export interface ObjectStore {
  /** @throws AppError invalid when hash or size differ, too_large beyond max_bytes. */
  put(
    key: string,
    body: ReadableStream<Uint8Array> | Uint8Array,
    options?: PutOptions,
  ): Promise<ObjectInfo>;
  /**
   * Puts several small objects at once, which costs far less than one after the other. One that is refused or fails is
   * reported in its place of the result and leaves nothing behind; the others are stored.
   * @throws what `confirm` throws; then nothing is stored.
   */
  putMany(objects: SmallObject[], confirm?: () => Promise<void>): Promise<PutResult[]>;
  /** Size of the object, and a tag that changes whenever it is replaced; null when there is none. */
  stat(key: string): Promise<{ size: number; tag: string } | null>;
  /** Bytes `start..end` (both included) or all of it; null when there is no such object. */
  read(
    key: string,
    range?: { start: number; end: number },
  ): Promise<ReadableStream<Uint8Array> | null>;
  /**
   * The object as a file, if it lies on this machine: Bun sends a file with its length, but a stream only in chunks.
   * Null when there is no such object; absent on remote stores.
   */
  localFile?(key: string): Promise<Blob | null>;
  delete(key: string): Promise<void>;
  /** Deletes everything below `prefix/`. */
  deletePrefix(prefix: string): Promise<void>;
  /** Keys below `prefix/`, sorted. */
  list(prefix: string): Promise<string[]>;
  /** On stores to which others can write with the hub's permission. */
  direct?: DirectStore;
  /**
   * Whether the store takes objects now; on S3 whether it answers.
   * @throws AppError unavailable with the reason.
   */
  probe(): Promise<void>;
  close(): Promise<void>;
}

/** Bodies that do not go through the hub: each lies apart until the hub has checked it. */
export interface DirectStore {
  /** Longer bodies must go through the hub. */
  max_bytes: number;
  /** A PUT for exactly these headers and this body, to be sent within minutes. `owner` is one safe name. */
  begin(
    owner: string,
    info: ObjectInfo,
  ): Promise<{ id: string; url: string; headers: Record<string, string> }>;
  /**
   * Makes what lies there the object `key`, after `confirm`; false when nothing lies there.
   * @throws AppError invalid when it is not what was announced; what `confirm` throws.
   */
  adopt(
    owner: string,
    id: string,
    key: string,
    info: ObjectInfo,
    confirm: () => Promise<void>,
  ): Promise<boolean>;
}
