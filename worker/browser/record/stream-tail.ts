import type { BodySink } from "../cdp/body-decoder.ts";
import type { CdpSession } from "../cdp/connection.ts";
import type { PartialFile, PartPosition } from "./parts.ts";
import { lossReason } from "./read-body.ts";
import { declaredLength, type RequestEntry } from "./requests.ts";

/** A body that is followed piece by piece. */
export interface Tail {
  readonly entry: RequestEntry;
  readonly file: PartialFile;
  /** The session that is asked for it. */
  readonly session: CdpSession;
  /** Takes the bytes that came before it was followed. */
  readonly sink: BodySink;
  /** Asks another session, from the start. */
  ask(session: CdpSession): void;
  /** A piece has arrived, perhaps before the bytes that precede it. */
  piece(bytes: Buffer): void;
  /** The bytes that precede the pieces have arrived; `missed` bytes were reported without their data. */
  followed(missed: number): void;
  /** Its request has ended. */
  end(): void;
}

export interface TailDeps {
  entry: RequestEntry;
  session: CdpSession;
  file: PartialFile;
  position: PartPosition;
  /** Its length is known when it has ended without a gap. */
  has_end: boolean;
  onProgress(request_id: string): void;
  /** It has ended, and every piece is stored. */
  onClosed(request_id: string): void;
}

export function createTail(deps: TailDeps): Tail {
  const { entry, file, position } = deps;
  let session = deps.session;
  /** Pieces that arrived before the answer with the bytes that precede them. */
  let early: Buffer[] | null = [];
  let next = position.start;
  let over = false;

  const store = (bytes: Uint8Array) => {
    deps.onProgress(entry.id);
    try {
      file.coverage.add(bytes, next);
    } catch (err) {
      file.reason = lossReason(err);
    }
    next += bytes.length;
  };
  const close = () => {
    over = true;
    if (early) return;
    deps.onClosed(entry.id);
    // The length of such a body is known only when it has ended and has no gap.
    if (position.total === null && declaredLength(entry.headers) === null && deps.has_end)
      file.coverage.total = next;
  };
  const restart = () => {
    next = position.start;
  };
  return {
    entry,
    file,
    get session() {
      return session;
    },
    sink: { write: store, restart },
    ask: (other) => {
      session = other;
      early = [];
      restart();
    },
    piece: (bytes) => {
      if (early) early.push(bytes);
      else store(bytes);
    },
    followed: (missed) => {
      // Bytes that neither the prefix nor an event holds leave a gap, never a shifted body.
      next = Math.max(next, position.start + missed);
      for (const piece of early ?? []) store(piece);
      early = null;
      if (over) close();
    },
    end: close,
  };
}
