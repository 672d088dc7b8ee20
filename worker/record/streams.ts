import type { CdpSession, Protocol } from "../cdp/connection.ts";
import type { BodySource } from "./ledger.ts";
import type { PartialFile, PartPosition, PartStore } from "./parts.ts";
import { partPosition } from "./parts.ts";
import { lossReason } from "./read-body.ts";
import { declaredLength, type RequestEntry } from "./requests.ts";

/** Above this the durable buffer (128 MB) may drop the body before it can be read. */
const MAX_BUFFERED_BYTES = 100 * 1024 * 1024;
/** A player's file that was not taken while paused; its end may never come. */
const MAX_TAKEN_BYTES = 64 * 1024 * 1024;
const START_TIMEOUT_MS = 5_000;

/** Pictures one after the other. Blink tells the end of the first as the end of all. */
const isCamera = (entry: RequestEntry): boolean =>
  entry.response?.mimeType === "multipart/x-mixed-replace";

/** Bodies that never end by themselves. */
export const isEndless = (entry: RequestEntry): boolean =>
  entry.type === "EventSource" ||
  entry.response?.mimeType === "text/event-stream" ||
  isCamera(entry);

/** Bodies that cannot be read at their end: they have none, or are larger than any buffer. */
export function needsTail(entry: RequestEntry): boolean {
  if (isEndless(entry)) return true;
  const declared = Number(entry.headers.get("content-length") ?? 0);
  const limit = entry.type === "Media" ? MAX_TAKEN_BYTES : MAX_BUFFERED_BYTES;
  return declared > limit;
}

interface Tail {
  entry: RequestEntry;
  session: CdpSession;
  file: PartialFile;
  position: PartPosition;
  /** Pieces that came before the answer that holds what went before them. */
  early: Buffer[] | null;
  /** Bytes that came before the answer, without their data. */
  missed: number;
  next: number;
  over: boolean;
}

export interface StreamDeps {
  parts: PartStore;
  source(entry: RequestEntry): BodySource;
}

export interface Streams {
  /** Listens on a session that will follow streams. */
  watch(session: CdpSession): void;
  /** Follows a response from its headers on. */
  follow(entry: RequestEntry, session: CdpSession): void;
}

/**
 * Follows bodies piece by piece with `Network.streamResourceContent`, on a session without durable messages where there
 * is one: with durable messages the part before the command is not delivered.
 */
export function createStreams(deps: StreamDeps): Streams {
  const tails = new Map<string, Tail>();

  const store = (tail: Tail, bytes: Uint8Array) => {
    try {
      tail.file.coverage.add(bytes, tail.next);
    } catch (err) {
      tail.file.reason = lossReason(err);
    }
    tail.next += bytes.length;
  };
  const onPrefix = (tail: Tail, prefix: Buffer) => {
    store(tail, prefix);
    // What neither the prefix nor an event holds leaves a gap, never a shifted body.
    tail.next = Math.max(tail.next, tail.position.start + tail.missed);
    for (const piece of tail.early ?? []) store(tail, piece);
    tail.early = null;
    if (tail.over) close(tail);
  };
  const close = (tail: Tail) => {
    tail.over = true;
    if (tail.early) return;
    tails.delete(tail.entry.id);
    const { coverage } = tail.file;
    const { entry, position, next } = tail;
    // The end of a body of unknown length is known only when it ended, and had no gap.
    if (position.total === null && declaredLength(entry.headers) === null && !isCamera(entry))
      coverage.total = next;
  };
  const onData = (session: CdpSession, p: Protocol.Network.DataReceivedEvent) => {
    const tail = tails.get(p.requestId);
    if (!tail || tail.session !== session) return;
    if (p.data === undefined) {
      if (tail.early) tail.missed += p.dataLength;
      return;
    }
    const bytes = Buffer.from(p.data, "base64");
    if (tail.early) tail.early.push(bytes);
    else store(tail, bytes);
  };
  return {
    watch: (session) => {
      session.on("Network.dataReceived", (p) => onData(session, p));
      session.on("Network.loadingFinished", (p) => {
        const tail = tails.get(p.requestId);
        if (tail?.session === session) close(tail);
      });
      session.on("Network.loadingFailed", (p) => tails.delete(p.requestId));
    },
    follow: (entry, session) => {
      const position = partPosition(entry.response?.status ?? 0, entry.headers) ?? {
        start: 0,
        length: null,
        total: null,
        // Never joined with another response: a stream has no identity beyond itself.
        validator: `stream ${entry.id}`,
      };
      const file = deps.parts.file(deps.source(entry), position);
      const tail: Tail = {
        entry,
        session,
        file,
        position,
        early: [],
        missed: 0,
        next: position.start,
        over: false,
      };
      tails.set(entry.id, tail);
      file.reason = position.length === null ? "timeout" : "aborted";
      session
        .send(
          "Network.streamResourceContent",
          { requestId: entry.id },
          { timeout_ms: START_TIMEOUT_MS },
        )
        .then(
          ({ bufferedData }) => onPrefix(tail, Buffer.from(bufferedData, "base64")),
          () => {
            file.reason = position.length === null ? "timeout" : "too_large";
            tails.delete(entry.id);
          },
        );
    },
  };
}
