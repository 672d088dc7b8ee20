import { createHash } from "node:crypto";
import {
  chmodSync,
  closeSync,
  lstatSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { AppError } from "#shared/kit/errors.ts";
import { newToken } from "#shared/protocol/ids.ts";
import { MAX_INPUT_FILES_BYTES } from "#shared/protocol/limits.ts";
import { safeFileName } from "./file-names.ts";

/** A file of a session as the bridge serves it. */
export interface StoredFile {
  path: string;
  size: number;
  mime: string;
}

/** A file for a page, while it is being uploaded. */
interface Upload {
  /** Its path once `end` was called. */
  readonly path: string;
  /**
   * @throws AppError too_large when the session's uploads would exceed MAX_INPUT_FILES_BYTES; the received part is
   * removed.
   */
  write(chunk: Uint8Array): void;
  /** From now on `set_input_files` finds it under its id. */
  end(): void;
  /** Removes the received part. Idempotent, and without effect after `end`. */
  discard(): void;
}

/** A download of the session's browser, without the URL at which the hub serves it. `created_at` epoch ms. */
export interface DownloadedFile {
  name: string;
  size: number;
  mime: string;
  url: string;
  state: "in_progress" | "completed" | "canceled";
  created_at: number;
}

/**
 * Files of one session. They are stored in its browser's run directory, so they disappear with it; their names on
 * disk are hashes or numbers, so nothing a client says can name a file outside.
 */
export interface SessionFiles {
  /** The bytes of a large result; null for an unknown id. */
  openBlob(id: string): StoredFile | null;
  /** A second upload of one id replaces the first. @throws AppError conflict while there is no browser. */
  createUpload(id: string): Upload;
  /** Removes an upload that was not used. Without effect for an unknown id. */
  dropUpload(id: string): void;
  listDownloads(): DownloadedFile[];
  /** A completed download; null for an unknown name. */
  openDownload(name: string): StoredFile | null;
}

/** Results that nobody has fetched make room for newer ones. */
const MAX_BLOBS = 16;

export interface OwnFiles extends SessionFiles {
  /** Keeps a result for the bridge and returns its id. */
  putBlob(bytes: string | Uint8Array, mime?: string): string;
  /**
   * Creates a file whose path ends in `name`, because pages see the file's name; its content is inline or from an
   * upload.
   */
  takeInput(name: string, content: { bytes: Uint8Array } | { upload_id: string }): string;
}

export interface FilesDeps {
  /** The run directory of the browser in use; null while there is none. */
  root(): string | null;
  downloads: Pick<SessionFiles, "listDownloads" | "openDownload">;
}

const hashOf = (id: string) => createHash("sha256").update(id).digest("hex").slice(0, 32);

/** The uploads of a session that no page has been given yet. */
function createUploads(dir: (name: string) => string) {
  const uploads = new Map<string, { path: string; size: number }>();
  const sizeOfUploads = () => [...uploads.values()].reduce((sum, { size }) => sum + size, 0);

  const createUpload = (id: string): Upload => {
    const path = join(dir("uploads"), hashOf(id));
    const part = `${path}.${newToken()}.part`;
    const fd = openSync(part, "wx", 0o644);
    let size = 0;
    let open = true;
    const discard = () => {
      if (!open) return;
      open = false;
      closeSync(fd);
      rmSync(part, { force: true });
    };
    return {
      path,
      write: (chunk) => {
        if (
          sizeOfUploads() - (uploads.get(id)?.size ?? 0) + size + chunk.length >
          MAX_INPUT_FILES_BYTES
        ) {
          discard();
          throw new AppError(
            "too_large",
            `the files of a session may have ${MAX_INPUT_FILES_BYTES} bytes in all`,
          );
        }
        for (let at = 0; at < chunk.length; ) at += writeSync(fd, chunk, at);
        size += chunk.length;
      },
      end: () => {
        if (!open) return;
        open = false;
        closeSync(fd);
        renameSync(part, path);
        uploads.set(id, { path, size });
      },
      discard,
    };
  };
  return {
    create: createUpload,
    /** Null for an unknown id, or when its file is gone. */
    find: (id: string): string | null => {
      const path = uploads.get(id)?.path;
      return path !== undefined && lstatSync(path, { throwIfNoEntry: false }) ? path : null;
    },
    /** Its file belongs to somebody else from now on. */
    forget: (id: string): void => void uploads.delete(id),
    drop: (id: string): void => {
      const upload = uploads.get(id);
      if (!upload) return;
      uploads.delete(id);
      rmSync(upload.path, { force: true });
    },
  };
}

export function createSessionFiles({ root, downloads }: FilesDeps): OwnFiles {
  const blobs = new Map<string, StoredFile>();
  let inputs = 0;

  const dir = (name: string): string => {
    const run = root();
    if (run === null) throw new AppError("conflict", "the session has no browser yet");
    const path = join(run, name);
    // Chromium may run as another user; the run directory above lets nobody else in.
    mkdirSync(path, { recursive: true, mode: 0o755 });
    return path;
  };
  const uploads = createUploads(dir);
  return {
    ...downloads,
    openBlob: (id) => blobs.get(id) ?? null,
    createUpload: uploads.create,
    dropUpload: uploads.drop,
    putBlob: (bytes, mime = "application/json") => {
      const id = newToken();
      const path = join(dir("blobs"), hashOf(id));
      writeFileSync(path, bytes);
      blobs.set(id, { path, size: Buffer.byteLength(bytes), mime });
      for (const [old, { path: stale }] of [...blobs].slice(0, -MAX_BLOBS)) {
        blobs.delete(old);
        rmSync(stale, { force: true });
      }
      return id;
    },
    takeInput: (name, content) => {
      const folder = join(dir("inputs"), String(++inputs));
      mkdirSync(folder, { mode: 0o755 });
      const path = join(folder, safeFileName(name));
      if ("bytes" in content) {
        writeFileSync(path, content.bytes, { mode: 0o644 });
        return path;
      }
      const uploaded = uploads.find(content.upload_id);
      if (uploaded === null)
        throw new AppError("invalid", `there is no upload ${content.upload_id}`);
      // The file is moved, so that a page may still read it while the next call brings its own.
      renameSync(uploaded, path);
      uploads.forget(content.upload_id);
      chmodSync(path, 0o644);
      return path;
    },
  };
}
