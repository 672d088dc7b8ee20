import { CdpError, type CdpSession, type Protocol } from "../cdp/connection.ts";
import type { BodySource } from "./ledger.ts";
import { type PartPosition, type PartStore, partPosition } from "./parts.ts";
import { declaredLength, type RequestEntry } from "./requests.ts";
import { createTail, type Tail } from "./stream-tail.ts";

/** Above this the durable buffer (128 MB) may drop the body before it can be read. */
const MAX_BUFFERED_BYTES = 100 * 1024 * 1024;
/** A player's file that was not read while it was paused; its end may never come. */
const MAX_TAKEN_BYTES = 64 * 1024 * 1024;
/** A body of unknown length is followed from this size on: what came before is still in the plain session's buffer. */
const OUTGROWN_BYTES = 24 * 1024 * 1024;
/** With 36 processes waiting for two cores Chromium took up to 5.5 s to answer; it may be busy with other bodies too. */
const START = { timeout_ms: 30_000, longest_ms: 300_000 };
/** Types whose bodies the plain session keeps until they are followed: those that Blink does not keep by itself. */
const KEPT_TYPES = ["Fetch", "XHR", "Document"];

/** Images one after the other. Blink reports the end of the first as the end of all. */
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

/** Whether a body without a declared length has grown so large that no buffer will still have it at its end. */
export const outgrows = (entry: RequestEntry): boolean =>
  entry.received > OUTGROWN_BYTES &&
  declaredLength(entry.headers) === null &&
  KEPT_TYPES.includes(entry.type);

export interface StreamDeps {
  parts: PartStore;
  source(entry: RequestEntry): BodySource;
  /** More of a request's body has arrived. */
  progress(request_id: string): void;
}

export interface Streams {
  /** Listens on a session that will follow streams. */
  watch(session: CdpSession): void;
  /** Follows a response on the first of `sessions` that knows it; its headers must have arrived. */
  follow(entry: RequestEntry, sessions: readonly CdpSession[]): void;
}

/**
 * Follows bodies piece by piece with `Network.streamResourceContent`, on a session without durable messages if there
 * is one: with durable messages, the part before the command is not delivered.
 */
export function createStreams(deps: StreamDeps): Streams {
  const tails = new Map<string, Tail>();
  /** Bytes of open responses that each session reported without their data. */
  const told = new Map<CdpSession, Map<string, number>>();

  const missedOf = ({ session, entry }: Tail) => told.get(session)?.get(entry.id) ?? 0;
  const onData = (
    session: CdpSession,
    counts: Map<string, number>,
    p: Protocol.Network.DataReceivedEvent,
  ) => {
    // The page's own session can be silent for longer than a stall while pieces arrive on this one (280 MB at load 40).
    deps.progress(p.requestId);
    if (p.data === undefined) {
      counts.set(p.requestId, (counts.get(p.requestId) ?? 0) + p.dataLength);
      return;
    }
    const tail = tails.get(p.requestId);
    if (!tail || tail.session !== session) return;
    tail.piece(Buffer.from(p.data, "base64"));
  };
  const follow = async (tail: Tail, sessions: readonly CdpSession[]) => {
    for (const session of sessions) {
      tail.ask(session);
      try {
        await session.streamBody(tail.entry.id, tail.sink, START);
        return tail.followed(missedOf(tail));
      } catch (err) {
        // A session that began after the request does not know it. After any other error, pieces may still arrive.
        if (!(err instanceof CdpError)) return tail.followed(missedOf(tail));
      }
    }
    tail.file.reason = isEndless(tail.entry) ? "timeout" : "too_large";
    tails.delete(tail.entry.id);
  };
  return {
    watch: (session) => {
      const counts = new Map<string, number>();
      told.set(session, counts);
      void session.closed.then(() => told.delete(session));
      session.on("Network.dataReceived", (p) => onData(session, counts, p));
      session.on("Network.loadingFinished", (p) => {
        const tail = tails.get(p.requestId);
        if (tail?.session === session) tail.end();
        if (!tail) counts.delete(p.requestId);
      });
      session.on("Network.loadingFailed", (p) => {
        counts.delete(p.requestId);
        const tail = tails.get(p.requestId);
        if (!tail) return;
        tails.delete(p.requestId);
        if (tail.file.reason === "timeout") tail.file.reason = "aborted";
      });
    },
    follow: (entry, sessions) => {
      const [session] = sessions;
      if (!session) return;
      const position = positionOf(entry);
      const file = deps.parts.file(deps.source(entry), position);
      // The end of the job cuts short whatever is open.
      file.reason = "timeout";
      const tail = createTail({
        entry,
        session,
        file,
        position,
        has_end: !isCamera(entry),
        onProgress: deps.progress,
        onClosed: (id) => tails.delete(id),
      });
      tails.set(entry.id, tail);
      void follow(tail, sessions);
    },
  };
}

const positionOf = (entry: RequestEntry): PartPosition =>
  partPosition(entry.response?.status ?? 0, entry.headers) ?? {
    start: 0,
    length: null,
    total: null,
    // It is never joined with another response: a stream has no identity beyond itself.
    validator: `stream ${entry.id}`,
  };
