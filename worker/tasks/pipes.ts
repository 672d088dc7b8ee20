import { dlopen, FFIType, ptr } from "bun:ffi";
import { closeSync } from "node:fs";
import type { Readable } from "node:stream";

/** <fcntl.h>: other programs that this process starts do not inherit it. */
const O_CLOEXEC = 0o2000000;

interface Libc {
  pipe2(fds: unknown, flags: number): number;
}

let libc: Libc | null | undefined;

function loadLibc(): Libc | null {
  try {
    return dlopen("libc.so.6", {
      pipe2: { args: [FFIType.ptr, FFIType.i32], returns: FFIType.i32 },
    }).symbols as unknown as Libc;
  } catch {
    // With another libc the runtime's sockets must do.
    return null;
  }
}

/** Where a child's stdout or stderr comes out. */
export interface Outlet {
  /** The child's end, for its stdio. */
  readonly stdio: number | "pipe";
  /** Call it once the child has started, or failed to. `stream` is what the runtime created for `"pipe"`. */
  read(stream: Readable | null | undefined, push: (bytes: Uint8Array) => void): void;
  /** Resolves when nobody can write any longer. */
  readonly ended: Promise<void>;
  /** Stops reading, even if somebody may still write. Idempotent. */
  close(): void;
}

/**
 * A real pipe. What the runtime calls a pipe is a socket, which a program cannot open by name, so `tee /dev/stderr` and
 * `> /dev/stdout` would fail (ENXIO).
 */
export function openOutlet(): Outlet {
  libc ??= loadLibc();
  const fds = new Int32Array(2);
  const made = libc !== null && libc.pipe2(ptr(fds), O_CLOEXEC) === 0;
  return made ? pipeOutlet(fds[0] as number, fds[1] as number) : socketOutlet();
}

function pipeOutlet(read_fd: number, write_fd: number): Outlet {
  const end = Promise.withResolvers<void>();
  const reader = Bun.file(read_fd).stream().getReader();
  let closed = false;
  const readAll = async (push: (bytes: Uint8Array) => void) => {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      if (!closed) push(value);
    }
  };
  return {
    stdio: write_fd,
    read: (_stream, push) => {
      closeSync(write_fd);
      void readAll(push)
        .catch(() => {})
        .then(() => {
          closeSync(read_fd);
          end.resolve();
        });
    },
    ended: end.promise,
    close: () => {
      if (closed) return;
      closed = true;
      void reader.cancel().catch(() => {});
    },
  };
}

function socketOutlet(): Outlet {
  const end = Promise.withResolvers<void>();
  let source: Readable | null = null;
  return {
    stdio: "pipe",
    read: (stream, push) => {
      source = stream ?? null;
      source?.on("data", push);
      source?.once("close", () => end.resolve());
      if (!source) end.resolve();
    },
    ended: end.promise,
    close: () => void source?.destroy(),
  };
}
